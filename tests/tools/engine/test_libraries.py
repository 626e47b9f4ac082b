"""CUB's device-wide algorithms, Thrust and libcu++ run with right results, and clean under every check.

Most of them take their compiler half a minute: `CUDANALYST_LONG=1` runs those too.
"""

import os
from pathlib import Path

import pytest

from tests.tools.engine.conftest import Bench, Run

FOLDER = Path(__file__).parent / "libraries"
PTX = "-gencode=arch=compute_90,code=compute_90"
CHECKS = ("memcheck", "racecheck", "initcheck", "synccheck")
FOUND = {
    ("cub_device", "initcheck"): {
        "uninitialized_global_read": "padding of a pair, stored by its members and loaded whole",
        "uninitialized_shared_read": "merge sort reads the unused end of a tile and drops it",
    },
    ("thrust_all", "initcheck"): {
        "uninitialized_global_read": "padding of a tuple, stored by its members and loaded whole",
        "uninitialized_shared_read": "merge sort reads the unused end of a tile and drops it",
    },
    ("thrust_all", "racecheck"): {
        "global_race_war": "thrust::unique in place: a block's write is ordered after its neighbour's reads by look-back alone",
    },
}
"""What a check reports in the libraries' own code. The reasons are what the code suggests; none is proved, and the race may be a false alarm."""
LONG = pytest.mark.skipif(not os.environ.get("CUDANALYST_LONG"), reason="takes long to compile: CUDANALYST_LONG=1")

PROGRAMS = [
    pytest.param("few"),
    pytest.param("cub_device", marks=[LONG, pytest.mark.timeout(1800)]),
    pytest.param("thrust_all", marks=[LONG, pytest.mark.timeout(1800)]),
    pytest.param("cuda_std", marks=LONG),
]


def run(bench: Bench, name: str, check: str | None = None) -> Run:
    program = bench.compile(f'#include "{FOLDER / name}.cu"\n', PTX)
    env = {"CUDANALYST_MODE": "check", "CUDANALYST_CHECKS": check} if check else {}
    return bench.start(program, env=env)


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_right(bench: Bench, name: str) -> None:
    seen = run(bench, name)
    assert "FAIL" not in seen.output
    assert seen.output.count("ok ") > 4
    assert seen.process.exit_status == 0


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_found(bench: Bench, name: str, check: str) -> None:
    seen = run(bench, name, check)
    assert "FAIL" not in seen.output
    assert {finding["kind"] for finding in seen.of_type("finding")} <= set(FOUND.get((name, check), {}))
