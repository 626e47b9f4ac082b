"""Timing on a real GPU: the gate, the flushes, comparisons of known truth, and whole comparisons of candidates.

Quick on purpose; `benchmarks/gpu_timing.py` counts errors over hundreds of comparisons.
"""

import argparse
import asyncio
import os
from contextlib import AsyncExitStack

import pytest

from benchmarks.timing.bench import Bench, open_bench
from benchmarks.timing.copying import copy_rates
from benchmarks.timing.rig import Work
from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.tools.run import RunRequest, run
from cudanalyst.tools.source import Source
from cudanalyst.tools.timing.commands import calibrate, load_kernels, make_pair, preheat, time_groups
from cudanalyst.tools.timing.foreign import descends
from cudanalyst.tools.timing.models import Comparison
from cudanalyst.tools.toolchain.gpu import GpuToolchain
from tests.gpu.leases import holding

pytestmark = [pytest.mark.gpu, pytest.mark.anyio]
SECRET = b"a secret of the GPU tests"


@pytest.fixture(scope="module")
async def bench(anyio_backend):
    """One executor for all tests of this file; every comparison opens a context of its own."""
    options = argparse.Namespace(driver=None, image=None, kernels=None, device=0, total=900.0)
    async with AsyncExitStack() as stack:
        async with holding("exclusive"):
            made, facts = await open_bench(stack, options)
        print(facts)  # noqa: T201 - read from the run's output
        yield made


@pytest.mark.usefixtures("alone")
async def test_the_gate_holds_and_overheads_and_bandwidths_are_plausible(bench: Bench, record) -> None:
    await bench.executor.open(bench.device)
    l2_bytes = await load_kernels(bench.executor, bench.kernels)
    heat = await preheat(bench.executor)
    calibration = await calibrate(bench.executor, l2_bytes)
    await bench.executor.close()
    bench.calibration = calibration
    record(
        "timing/calibration",
        {"preheat": heat.__dict__, **calibration.__dict__, "overheads": calibration.overheads.model_dump()},
    )
    assert heat.steady
    overheads = calibration.overheads
    assert None not in (overheads.in_graph_us, overheads.alone_us, overheads.events_us, overheads.step_us)
    assert 0.1 < overheads.in_graph_us < overheads.alone_us < 20
    assert overheads.events_us < overheads.alone_us
    assert overheads.step_us < 1.1
    assert calibration.dram_gb_per_s > 100
    assert calibration.l2_gb_per_s is None or calibration.l2_gb_per_s > calibration.dram_gb_per_s


@pytest.mark.usefixtures("alone")
async def test_launch_latency_stays_out_behind_the_gate(bench: Bench, record) -> None:
    await bench.executor.open(bench.device)
    await load_kernels(bench.executor, bench.kernels)
    await preheat(bench.executor)
    rig = bench.rig(Work(80_000, 1), Work(80_000, 1))
    await rig.place(0, "A")
    await rig.fill(range(4), 0)
    await make_pair(bench.executor, "p", "single", 1, rig.traces("A", 0), rig.traces("B", 0))
    await time_groups(bench.executor, "p", ["ABBA"] * 2)
    gated = await time_groups(bench.executor, "p", ["ABBA"] * 10)
    free = await time_groups(bench.executor, "p", ["ABBA"] * 10, gate_ms=0)
    await bench.executor.close()
    medians = {
        name: sorted(us for group in one.groups for us in group.us)[20]
        for name, one in (("gated", gated), ("free", free))
    }
    record("timing/gate", medians)
    assert all(group.gated and group.drained for group in gated.groups)
    assert not any(group.gated for group in free.groups)
    assert medians["gated"] <= medians["free"] * 1.05


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("us", [5, 5000])
async def test_equal_kernels_are_the_same_and_five_per_cent_more_work_is_slower(bench: Bench, record, us) -> None:
    base = await bench.size_for(us)
    more = Work(int(base.vectors * 1.05), base.passes)
    equal, equal_s = await bench.compare(base, base, "warm", 1, looked=False)
    slower, slower_s = await bench.compare(more, base, "warm", 2, looked=True)
    faster, faster_s = await bench.compare(base, more, "warm", 3, looked=True)
    found = {"equal": equal, "slower": slower, "faster": faster}
    held = {"held_s": [equal_s, slower_s, faster_s]}
    record(f"timing/warm_{us}us", held | {name: one.model_dump(mode="json") for name, one in found.items()})
    assert {name: one.verdict for name, one in found.items()} == {
        "equal": "same",
        "slower": "slower",
        "faster": "faster",
    }
    assert all(one.gated for one in found.values())
    # Events and %globaltimer tell the same times.
    assert all(one.second is not None and one.second.agrees for one in found.values())


@pytest.mark.usefixtures("alone")
async def test_own_contexts_are_no_foreign_load(bench: Bench, record) -> None:
    base = await bench.size_for(5)
    result, _ = await bench.compare(base, base, "warm", 4, looked=True)
    seen = result.conditions.between.processes
    ours = [descends(one.pid, os.getpid()) for one in seen or ()]
    record("timing/processes", {"me": os.getpid(), "seen": str(seen), "ours": ours, "notes": result.notes})
    # In a container the numbers may be the host's; then processes are only counted, and other tests may hold contexts.
    if any(ours):
        assert any("other process" in note for note in result.notes) == (not all(ours))


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("mode", ["cold", "cold_data"])
async def test_equal_kernels_show_no_systematic_sign_when_cold(bench: Bench, record, mode) -> None:
    base = await bench.size_for(5)
    results = [(await bench.compare(base, base, mode, seed, looked=True))[0] for seed in range(4)]
    assert all(isinstance(one, Comparison) for one in results)
    record(f"timing/{mode}_5us_equal", [one.model_dump(mode="json") for one in results])
    print(mode, [f"{one.verdict} {one.speedup:.4f} +-{one.resolvable:.4f} ({one.groups})" for one in results])  # noqa: T201
    assert not {"faster", "slower", "suspicious"} & {one.verdict for one in results}


@pytest.mark.usefixtures("alone")
async def test_a_copy_kernel_loses_nothing_to_the_harness(bench: Bench, record) -> None:
    rates = await copy_rates(bench)
    record("timing/copy", rates)
    assert rates["kernel_over_cupy"] is None or rates["kernel_over_cupy"] > 0.95


HEAD = "#include <cuda_runtime.h>\n"
SOLVE = 'extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream)'
STRIDED = (
    HEAD
    + "__global__ void add(const float* a, const float* b, float* out, int n) {\n"
    + "  for (int k = 0; k < 32; k++) { int i = (blockIdx.x * blockDim.x + threadIdx.x) * 32 + k; if (i < n) out[i] = a[i] + b[i]; } }\n"
    + SOLVE
    + " { add<<<(n + 8191) / 8192, 256, 0, stream>>>(a, b, out, n); return cudaGetLastError(); }"
)
KEEPS_RESULTS = (
    HEAD
    + "__device__ unsigned long long seen[64];\n"
    + "__global__ void add(const float* a, const float* b, float* out, int n, int slot) {\n"
    + "  unsigned long long key = __float_as_uint(a[n / 2]) ^ ((unsigned long long)__float_as_uint(b[n / 3]) << 32);\n"
    + "  if (seen[slot] == key) return;\n"
    + "  for (int r = 0; r < 8; r++) for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = a[i] + b[i]; }\n"
    + "__global__ void keep(const float* a, const float* b, int n, int slot) {\n"
    + "  seen[slot] = __float_as_uint(a[n / 2]) ^ ((unsigned long long)__float_as_uint(b[n / 3]) << 32); }\n"
    + SOLVE
    + " { int slot = ((unsigned long long)out >> 12) % 64; add<<<1024, 256, 0, stream>>>(a, b, out, n, slot);"
    + " keep<<<1, 1, 0, stream>>>(a, b, n, slot); return cudaGetLastError(); }"
)

SEVERAL_KERNELS = (
    HEAD
    + "__global__ void first(const float* a, float* kept, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) kept[i] = a[i]; }\n"
    + "__global__ void second(float* kept, const float* b, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) kept[i] += b[i]; }\n"
    + "__global__ void third(const float* kept, float* out, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = kept[i]; }\n"
    + 'extern "C" size_t workspace_bytes(long n) { return 4 * n; }\n'
    + 'extern "C" int solve(const float* a, const float* b, float* out, int n, float* kept, size_t bytes, cudaStream_t stream)'
    + " { int grid = (n + 255) / 256; cudaMemsetAsync(kept, 0, bytes, stream); first<<<grid, 256, 0, stream>>>(a, kept, n);"
    + " second<<<grid, 256, 0, stream>>>(kept, b, n); third<<<grid, 256, 0, stream>>>(kept, out, n); return cudaGetLastError(); }"
)


@pytest.fixture(scope="module")
async def evaluations(anyio_backend):
    """Four candidates of one problem, evaluated at the same time as clients would: builds overlap, the device is leased."""
    catalogue = Catalogue()
    problem = catalogue.problem("vector_add")
    small = problem.model_copy(
        update={"sizes": {**problem.sizes, "eval": ({"n": 1048576},), "held_out": ({"n": 4099},)}}
    )
    toolchain = GpuToolchain()
    request = RunRequest(groups=("test",), model=False)

    async def evaluated(text: str):
        return await run(
            Source(text=text, problem="vector_add"), small, toolchain, request, expected=catalogue.expected, secret=SECRET,
            folder=catalogue.entry("vector_add").folder,
        )  # fmt: skip

    texts = {
        "baseline": problem.baseline,
        "strided": STRIDED,
        "keeps_results": KEEPS_RESULTS,
        "several": SEVERAL_KERNELS,
    }
    return dict(zip(texts, await asyncio.gather(*map(evaluated, texts.values())), strict=True))


async def test_the_baseline_itself_is_neither_faster_nor_slower(evaluations, record) -> None:
    result = evaluations["baseline"]
    record("timing/run_baseline", result.model_dump(mode="json"))
    assert result.status == "passed", result.summary
    assert [one.verdict for one in result.timings] == ["same"], result.summary
    assert result.fast is False


async def test_a_candidate_with_strided_accesses_is_slower(evaluations, record) -> None:
    result = evaluations["strided"]
    record("timing/run_strided", result.model_dump(mode="json"))
    assert result.status == "passed", result.summary
    assert {one.verdict for one in result.timings} <= {"slower", "inconclusive"}, result.summary
    assert result.speedup is not None
    assert result.speedup < 1


async def test_a_candidate_that_keeps_results_in_device_memory_is_never_fast(evaluations, record) -> None:
    result = evaluations["keeps_results"]
    record("timing/run_keeps_results", result.model_dump(mode="json"))
    assert result.fast is not True
    assert result.status in {"wrong", "passed"}
    assert result.status == "wrong" or any(one.verdict == "suspicious" for one in result.timings), result.summary


async def test_an_honest_candidate_of_several_kernels_and_a_workspace_raises_no_alarm(evaluations, record) -> None:
    result = evaluations["several"]
    record("timing/run_several_kernels", result.model_dump(mode="json"))
    assert result.status == "passed", result.summary
    assert [one.verdict for one in result.timings if one.verdict == "suspicious"] == [], result.timings
    assert not any("fresh values" in note for one in result.timings for note in one.notes), result.timings
