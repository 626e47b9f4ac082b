"""Large sizes on a real GPU, by `run` as a server calls it: every baseline is right, and what only shows there is found.

Times are recorded as `large_sizes`.
"""

import time

import pytest

from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.kernels.extent import is_large
from cudanalyst.tools.run import RunRequest, run
from cudanalyst.tools.source import Source
from cudanalyst.tools.toolchain.gpu import GpuToolchain

pytestmark = [pytest.mark.anyio, pytest.mark.gpu]
CATALOGUE = Catalogue()
ALL_SIZES = RunRequest(groups=("test", "eval", "held_out"), seeds=2, timing=(), model=False, timeout_s=60)
MEASURED = {}

INT_INDEX = """
#include <cuda_runtime.h>
__global__ void byte_sums(const unsigned char* x, int* out, int rows, int cols) {
    const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    int sum = 0;
    for (int c = lane; c < cols; c += 32) {
        const unsigned i = (unsigned)(row * cols + c) & 0x7fffffffu;  // what is left of an index that overflows
        sum += x[i];
    }
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    if (lane == 0) out[row] = sum;
}
extern "C" int solve(const unsigned char* x, int* out, int rows, int cols, cudaStream_t stream) {
    byte_sums<<<(rows + 3) / 4, 128, 0, stream>>>(x, out, rows, cols);
    return 0;
}
"""
NEGATIVE_INDEX = INT_INDEX.replace("(unsigned)(row * cols + c) & 0x7fffffffu", "row * cols + c").replace(
    "const unsigned i", "const int i"
)
RUN_TO_RUN = """
#include <cuda_runtime.h>
__global__ void clear(float* out) { *out = 0; }
__global__ void sum(const float* x, float* out, int n) {
    float own = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) own += x[i];
    for (int d = 16; d; d /= 2) own += __shfl_xor_sync(~0u, own, d);
    if (threadIdx.x % 32 == 0) atomicAdd(out, own);
}
extern "C" int solve(const float* x, float* out, int n, cudaStream_t stream) {
    clear<<<1, 1, 0, stream>>>(out);
    sum<<<2048, 256, 0, stream>>>(x, out, n);
    return 0;
}
"""


@pytest.fixture(scope="module")
async def gpu(anyio_backend):
    pytest.importorskip("cupy")
    toolchain = GpuToolchain(progress=print)
    await toolchain.capabilities()
    return toolchain


@pytest.fixture(scope="module", autouse=True)
def measured(record):
    yield
    record("large_sizes", MEASURED)


async def verified(gpu, problem_id, source, request=ALL_SIZES):
    entry = CATALOGUE.entry(problem_id)
    candidate = Source(text=source, problem=problem_id)
    return await run(
        candidate,
        entry.problem,
        gpu,
        request,
        expected=CATALOGUE.expected,
        secret=b"a secret of the GPU tests",
        folder=entry.folder,
    )


@pytest.mark.parametrize("problem_id", CATALOGUE.ids)
async def test_every_baseline_is_right_at_every_size(gpu, problem_id):
    problem = CATALOGUE.problem(problem_id)
    started = time.monotonic()

    result = await verified(gpu, problem_id, problem.baseline)

    MEASURED[f"{problem_id}: all sizes, 3 calls each"] = round(time.monotonic() - started, 3)
    assert result.status == "passed", result.summary
    assert result.large_sizes_left_out == 0
    shown = [case.sizes for case in result.cases if case.sizes is not None]
    assert any(is_large(problem, sizes) for sizes in shown)


async def test_an_index_that_loses_its_upper_bit_is_wrong_at_the_large_size_only(gpu):
    result = await verified(gpu, "byte_sums", INT_INDEX)

    assert result.status == "wrong", result.summary
    problem = CATALOGUE.problem("byte_sums")
    for case in result.cases:
        if case.sizes is not None:
            assert case.status == ("wrong" if is_large(problem, case.sizes) else "passed")
    wrong = next(case for case in result.cases if case.mismatch is not None)
    assert wrong.mismatch.index[0] >= 2**31 // 46351
    MEASURED["byte_sums with a 31-bit index"] = result.summary


async def test_a_negative_index_crashes_at_the_large_size_and_the_next_candidate_is_right(gpu):
    result = await verified(gpu, "byte_sums", NEGATIVE_INDEX)

    assert result.status in {"crashed", "wrong"}, result.summary
    MEASURED["byte_sums with an int index"] = result.summary
    again = await verified(gpu, "byte_sums", CATALOGUE.problem("byte_sums").baseline)
    assert again.status == "passed", again.summary


async def test_sums_that_differ_from_run_to_run_are_told_with_both_values(gpu):
    """Float atomics in whatever order: likely, not certain, to differ in the last digits at this size."""
    result = await verified(gpu, "reduction", RUN_TO_RUN, ALL_SIZES.model_copy(update={"groups": ("eval",)}))

    assert result.status == "passed", result.summary
    MEASURED["reduction by atomics"] = result.summary
    if result.deterministic is False:
        assert result.nondeterminism.first_text != result.nondeterminism.second_text
        assert "Not deterministic" in result.summary
