"""Random kernels give the same on the engine as the same text compiled for the host.

`CUDANALYST_FUZZ=N` runs N batches instead of one, each from other seeds, and with optimisation, without it, and for another architecture in turn.
"""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from cudanalyst.tools.engine.build import EngineInstallation
from cudanalyst.tools.toolchain.discovery import Toolkit
from tests.tools.engine.fuzz.compare import Bench
from tests.tools.engine.fuzz.generate import kernel_text

BATCHES = int(os.environ.get("CUDANALYST_FUZZ", "0"))
KERNELS, SIZE = (40, 10) if BATCHES else (24, 5)
FLAGS = ((), ("-Xcicc", "-O0"), ("-arch=sm_80",)) if BATCHES else ((),)


@settings(
    max_examples=max(BATCHES, 1),
    derandomize=BATCHES == 0,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(
    seeds=st.lists(st.integers(0, 2**48 - 1), min_size=KERNELS, max_size=KERNELS, unique=True),
    flags=st.sampled_from(FLAGS),
)
def test_random_kernels_agree_with_the_host(
    seeds: list[int],
    flags: tuple[str, ...],
    engine: EngineInstallation,
    toolkit: Toolkit,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    host = shutil.which(os.environ.get("CXX", "g++"))
    assert host is not None
    bench = Bench(toolkit.nvcc, Path(host), engine.library_dir / "libcuda.so.1", folder)
    wrong = bench.compare(seeds, SIZE, *flags)
    assert not wrong, smallest(bench, wrong[0], flags)


def smallest(bench: Bench, seed: int, flags: tuple[str, ...]) -> str:
    """The shortest kernel of a seed that still differs."""
    for size in range(1, SIZE + 1):
        if bench.compare([seed], size, *flags):
            return f"seed {seed}, size {size}, flags {flags}\n{kernel_text(seed, size, 'k0')}"
    return f"seed {seed} differs only among others"
