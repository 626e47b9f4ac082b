"""Instructions beyond arithmetic: memory, atomics, warps, barriers, clusters and matrices leave behind what they leave on an H200."""

import asyncio
import hashlib
import json
import os
import re
import sys
from pathlib import Path

import pytest

from cudanalyst.tools.process import run_process
from tests.tools.engine.conftest import COMPILE_TIMEOUT_S, Bench
from tests.tools.engine.matrices.mma_form import forms

HERE = Path(__file__).parent
FORMS = HERE / "instructions" / "forms.cu"
CLUSTERS = HERE / "instructions" / "clusters.cu"
CORPUS = HERE / "instructions" / "corpus.cu"
RECORDED = HERE / "data" / "instructions-h200-cuda13.0"
NOT_SPECIFIED = {"specials"}
"""Cases whose words depend on the machine: which warp slots, how much shared memory the system keeps."""
STYLES = {
    "for sm_80": ("-arch=compute_80",),
    "for sm_90": ("-arch=compute_90",),
    "with fast mathematics": ("-arch=compute_90", "--use_fast_math"),
    "for separate compilation": ("-arch=compute_90", "-rdc=true"),
    "with few registers": ("-arch=compute_90", "--maxrregcount=32"),
    "without optimisation": ("-arch=compute_90", "-Xcicc", "-O0"),
    "with debug information": ("-arch=compute_90", "-G"),
}


def cases(text: str) -> dict[str, str]:
    """By name, what each case printed."""
    return {line.split()[0]: line for line in text.splitlines() if re.match(r"\w+ \d+ [0-9a-f]{8}", line)}


def test_forms_of_memory_atomics_warps_and_barriers_do_what_they_do_on_an_h200(bench: Bench) -> None:
    run = bench.run(FORMS.read_text())
    expected = (RECORDED / "forms.txt").read_text()
    here, there = cases(run.output), cases(expected)
    assert here.keys() == there.keys()
    different = [name for name in there if here[name] != there[name] and name not in NOT_SPECIFIED]
    assert different == []


def test_forms_are_clean_in_every_check(bench: Bench) -> None:
    run = bench.run(FORMS.read_text(), env={"CUDANALYST_MODE": "check"})
    # One case reads through the read-only cache what its own kernel wrote, which is a fault in earnest.
    others = [f for f in run.of_type("finding") if "read-only cache" not in str(f["message"])]
    assert [(f["kind"], f["line"], f["message"]) for f in others] == []


def test_device_printf_formats_as_an_h200_does(bench: Bench) -> None:
    def printed(text: str) -> list[str]:
        return [line for line in text.splitlines() if line.split()[0:1] and line.split()[0] not in cases(text)]

    assert printed(bench.run(FORMS.read_text()).output) == printed((RECORDED / "forms.txt").read_text())


def recorded_clusters() -> dict[str, str]:
    """By name, what each case printed on the GPU."""
    parts = re.split(r"^== (\w+)\n", (RECORDED / "clusters.txt").read_text(), flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


@pytest.mark.parametrize("name", [name for name in recorded_clusters() if not name.startswith("check_")])
def test_a_cluster_does_what_it_does_on_an_h200(bench: Bench, name: str) -> None:
    binary = bench.compile(CLUSTERS.read_text())
    assert bench.start(binary, name).output == recorded_clusters()[name]


@pytest.mark.parametrize(
    "name", ["ring_of_four", "histogram_by_compile_time_size", "forms", "asynchronous_stores", "split_barrier"]
)
def test_correct_clusters_are_clean_in_every_check(bench: Bench, name: str) -> None:
    run = bench.start(bench.compile(CLUSTERS.read_text()), name, env={"CUDANALYST_MODE": "check"})
    assert [(f["kind"], f["line"], f["message"]) for f in run.of_type("finding")] == []


MARKED = {
    match[1]: (number, match[2])
    for number, line in enumerate(CLUSTERS.read_text().splitlines(), 1)
    if (match := re.search(r"// FAULT (\w+) (\w+)", line))
}


@pytest.mark.parametrize("name", MARKED)
def test_a_fault_across_a_cluster_is_found_on_its_line(bench: Bench, name: str) -> None:
    line, kind = MARKED[name]
    run = bench.start(bench.compile(CLUSTERS.read_text()), name, env={"CUDANALYST_MODE": "check"})
    places = [(f["line"], f["kind"]) for f in run.of_type("finding")]
    others = [
        (other["line"], f["kind"])
        for f in run.of_type("finding")
        if isinstance(other := f.get("other"), dict) and "line" in other
    ]
    assert any(at == line and str(found).startswith(kind) for at, found in places + others)


def test_products_of_matrices_are_those_of_an_h200_bit_by_bit(bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "matrices.json"
    library = bench.engine.library_dir / "libcuda.so.1"
    run = bench.start(sys.executable, "-m", "tests.tools.engine.matrices.mma_run", library, file, cwd=HERE.parents[2])
    assert run.process.exit_status == 0, run.process.stderr.text
    here, there = json.loads(file.read_text()), json.loads((RECORDED / "matrices.json").read_text())
    assert [name for name in there if here[name] != there[name]] == []
    assert len(there) == len(here) == len(list(forms()))


DECODE = """
import ctypes, sys
text = ctypes.create_string_buffer(1 << 20)
ptx = ctypes.c_char_p(open(sys.argv[2], "rb").read() + bytes(1))
ctypes.CDLL(sys.argv[1]).cudanalyst_decode(ptx, text, ctypes.c_size_t(len(text)))
print(text.value.decode())
"""


def undecoded(bench: Bench, source: Path, *flags: str) -> list[str]:
    """Of the PTX that a source compiles to: kernel, instruction, file and line of what the engine does not have."""
    ptx = bench.folder / f"{hashlib.sha256(' '.join(flags).encode()).hexdigest()[:8]}-{source.stem}.ptx"
    argv: list[str | Path] = [bench.toolkit.nvcc, "-std=c++17", "--extended-lambda", "-ptx", *flags, source, "-o", ptx]
    result = asyncio.run(run_process(argv, timeout_s=COMPILE_TIMEOUT_S))
    assert result.exit_status == 0, result.stderr.text
    return bench.start(sys.executable, "-c", DECODE, bench.engine.library, ptx).output.split("\n")[:-1]


@pytest.mark.parametrize(("style", "flags"), STYLES.items())
def test_what_nvcc_makes_of_groups_pipelines_tensors_and_the_language_decodes_without_an_unknown(
    bench: Bench, style: str, flags: tuple[str, ...]
) -> None:
    if style != "for sm_90" and not os.environ.get("CUDANALYST_HEAVY"):
        pytest.skip("compilation takes long: set CUDANALYST_HEAVY=1")
    assert [line for line in undecoded(bench, CORPUS, *flags) if line] == []


@pytest.mark.skipif(not os.environ.get("CUDANALYST_HEAVY"), reason="heavy headers: set CUDANALYST_HEAVY=1")
@pytest.mark.parametrize(
    "source", [HERE / "instructions" / "corpus_cub.cu", HERE / "instructions" / "corpus_thrust.cu"]
)
@pytest.mark.parametrize("target", ["compute_80", "compute_90"])
def test_algorithms_of_cub_and_thrust_decode_without_an_unknown(bench: Bench, source: Path, target: str) -> None:
    assert [line for line in undecoded(bench, source, f"-arch={target}") if line] == []
