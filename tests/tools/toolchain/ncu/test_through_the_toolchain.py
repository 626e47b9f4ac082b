"""The whole way of a candidate's profile: recorded, replayed by the executor under a stand-in for ncu, on the CPU engine in the place of a driver."""

import argparse
import os
import struct
import time
from pathlib import Path

import pytest

from benchmarks import gpu_profile
from benchmarks.profiling.ways import ways_summary
from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.tools.engine.build import cache_directory, install_engine
from cudanalyst.tools.gpu.abilities import Ability
from cudanalyst.tools.gpu.state import UnknownMonitor
from cudanalyst.tools.hardware import from_records
from cudanalyst.tools.profile import ProfileRequest, profile
from cudanalyst.tools.selection import Selection
from cudanalyst.tools.source import BuildOptions, Source
from cudanalyst.tools.toolchain import gpu_tools
from cudanalyst.tools.toolchain.gpu import GpuToolchain
from cudanalyst.tools.toolchain.gpu_probe import ToolAbilities
from cudanalyst.tools.toolchain.protocol import BufferSpec, Call, CandidateRequest, ScalarSpec

pytestmark = pytest.mark.anyio
DATA = Path(__file__).parent / "data" / "ncu-2025.3.1"
SOURCE = """
__global__ void k(float* y, const float* x, int n) { int i = threadIdx.x; if (i < n) y[i] = 2.f * x[i]; }
extern "C" int solve(float* y, const float* x, int n, cudaStream_t s) { k<<<1, 32, 0, s>>>(y, x, n); return 0; }
"""
REQUEST = CandidateRequest(
    (BufferSpec("y", "f32", "out"), BufferSpec("x", "f32", "in"), ScalarSpec("n", "int")),
    {"n": 4},
    (Call({"x": (16, struct.pack("<4f", 1, 2, 3, 4)), "y": (16, bytes(16))}, {"n": 4}, ("y",)),),
    guard_bytes=0,
    timeout_s=60,
)
SCRIPT = """#!/bin/sh
case "$1 $*" in
  --import*raw*) exec cat DATA/gemm_raw.csv;;
  --import*) exec cat DATA/gemm_source.csv;;
esac
echo "$@" > WORDS
while [ $# -gt 0 ]; do
  case "$1" in
    --export) report=$2; shift 2;;
    --log-file) log=$2; shift 2;;
    --launch-count) shift 2; break;;
    *) shift;;
  esac
done
echo report > "$report"
cat DATA/basic.txt > "$log"
echo "$HOME" >> WORDS
exec "$@"
"""


@pytest.fixture(scope="module")
async def gpu(anyio_backend, toolkit, tmp_path_factory):
    engine = await install_engine(cuda_include=toolkit.include, cache=cache_directory())
    environment = {**os.environ, "CUDANALYST_LEASES": str(tmp_path_factory.mktemp("leases"))}
    driver = engine.library_dir / "libcuda.so.1"
    return GpuToolchain(
        driver=driver, runtime=engine.library_dir, monitor=lambda: (UnknownMonitor(), None), environment=environment
    )


@pytest.fixture
def ncu(tmp_path):
    """A stand-in that leaves a recorded report, and its words in a file beside it."""
    path = tmp_path / "ncu"
    path.write_text(SCRIPT.replace("DATA", str(DATA)).replace("WORDS", str(tmp_path / "words")), "utf-8")
    path.chmod(0o755)
    return path


async def test_a_baseline_is_profiled_to_its_result(gpu, ncu, monkeypatch):
    """All of `profile`: the verdict on the call sees the report that the counters were added to."""

    async def abilities(parts):
        return ToolAbilities(abilities=(Ability(name="counters", status="ok"),), ncu=ncu)

    monkeypatch.setattr(gpu, "_tool_abilities", abilities)
    problem = Catalogue().problem("matmul")
    source = Source(text=problem.baseline, problem=problem.id, options=BuildOptions())
    request = ProfileRequest(sizes=problem.sizes["test"][0], sass=True)
    result = await profile(source, problem, gpu, request, secret=b"a secret of the tests")
    assert result.status == "profiled", result.reason or result.summary
    assert (result.level, result.sizes) == ("sass", problem.sizes["test"][0])
    assert [kernel.bound for kernel in result.kernels] == ["l1", "shared_memory"]
    assert {insight.kind for insight in result.insights} == {"redundant_global_reads", "shared_memory_traffic"}
    assert result.sass or result.sass_reason


async def test_the_executor_runs_under_the_tool_and_its_report_is_read(gpu, ncu):
    build = await gpu.build(Source(text=SOURCE, problem="double"))
    assert build.status == "compiled", build.diagnostics
    parts = await gpu._ready()
    async with gpu.lease() as (lease, _):
        on = gpu._on_device(parts, lease)
        execution = await gpu_tools.profile(on, ncu, build, REQUEST, Selection(kernel="k("))
    assert execution.how == "returned", execution.reason
    assert execution.downloads == ({"y": struct.pack("<4f", 2, 4, 6, 8)},)
    kernels = from_records(execution.report)
    assert [kernel.name.partition("(")[0] for kernel in kernels] == ["gemm_naive", "void gemm_tiled<32>"]
    assert (kernels[0].passes, kernels[0].reader) == (10, "csv")
    argv, home = (ncu.parent / "words").read_text("utf-8").splitlines()
    assert "--profile-from-start off" in argv
    assert r"regex:k\(" in argv
    assert "cudanalyst-executor --control" in argv
    assert Path(home) != Path.home()


@pytest.fixture
def benchmark_here(gpu, ncu, monkeypatch):
    """The benchmark on this machine: the stand-in, and sizes that the CPU engine gets done."""

    async def abilities(parts):
        found = Ability(name="counters", status="ok")
        return ToolAbilities(abilities=(found,), ncu=ncu, versions={"ncu": "2025.3.1.0"})

    monkeypatch.setattr(gpu, "_tool_abilities", abilities)
    monkeypatch.setattr(gpu_profile, "profile_size", lambda problem, *_, **__: ("test", problem.sizes["test"][0]))

    async def run(**fields):
        chosen = {
            "problems": ["vector_add"],
            "sets": ["standard"],
            "starts": False,
            "agreement": False,
            "variants": None,
        }
        options = argparse.Namespace(**{**chosen, **fields})
        return await gpu_profile.measure(gpu, options, time.perf_counter() + fields.pop("seconds", 60.0))

    return run


async def test_the_benchmark_tells_what_each_way_of_starting_ncu_saves(benchmark_here, ncu, capsys, monkeypatch):
    monkeypatch.setattr(gpu_profile, "MOST_ROUNDS", 1)
    rows = await benchmark_here(variants=["standard", "no_samples", "ncu_full"])
    found = ways_summary(rows)
    ways = found["ways"]
    assert [name for name, one in ways.items() if "runs" in one] == ["standard", "no_samples", "ncu_full"]
    assert ways["standard"]["saves_s"] == 0.0
    assert ways["no_samples"]["exact_counts_differ"] == []
    assert ways["rules"]["reason"] == "left out: the budget is spent"
    whole = found["standard_over_ncu_full"]["seconds"]
    assert (whole["pairs"], whole["confidence"]) == (1, 0.0)
    assert whole["from_to"] == [whole["median"]] * 2
    printed = capsys.readouterr().out
    assert all(name in printed for name in ("standard", "no_samples", "ncu_full"))
    assert "--set full" in (ncu.parent / "words").read_text("utf-8")
    assert "--apply-rules" not in (ncu.parent / "words").read_text("utf-8")  # as its users start it
    assert "--pipeline-boost-state" not in (ncu.parent / "words").read_text("utf-8")


async def test_the_benchmark_compares_bottlenecks_of_every_source_that_there_is_time_for(benchmark_here, ncu):
    rows = await benchmark_here(agreement=True, problems=["vector_add", "matmul"])
    found = gpu_profile.summary(rows)
    assert found["same_bottleneck"] == "2 of 2"
    assert (found["compared_with"], found["left_out"], found["failed"]) == ("full_counters", [], [])
    assert "--apply-rules no" in (ncu.parent / "words").read_text("utf-8")
