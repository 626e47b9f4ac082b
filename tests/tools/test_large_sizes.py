"""What only shows at larger sizes, and what is made on a device: run on the engine, at sizes that it can run."""

import pytest

from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.kernels.philox import KERNEL, SOURCE, words_on_host
from cudanalyst.tools.run import RunRequest, run
from cudanalyst.tools.source import Source
from cudanalyst.tools.toolchain.cpu import CpuToolchain

pytestmark = pytest.mark.anyio
CATALOGUE = Catalogue()

OVERFLOWS = """
__global__ void add(const float* a, const float* b, float* out, int n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned byte = i * 8192u;   // rows of 8 KiB: beyond 4 GiB the offset has lost its upper bits
    const unsigned j = byte / 8192u;
    if (i < n) out[j] = a[j] + b[j];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
"""
ONE_WAVE = """
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    const int blocks = (n + 255) / 256;
    add<<<blocks < 132 ? blocks : 132, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
"""
LAUNCH = """
#include <cstdio>
int main() {
    const int count = 67;
    unsigned long long* words;
    cudaMalloc(&words, count * 8);
    unsigned long long host[count];
    for (unsigned long long first : {0ull, 5ull, 4294967299ull}) {
        NAME<<<2, 96>>>(words, 0xfedcba9876543210ull, 0x0123456789abcdefull, first, count);
        cudaMemcpy(host, words, sizeof host, cudaMemcpyDeviceToHost);
        for (int i = 0; i < count; ++i) printf("%llx\\n", host[i]);
    }
}
""".replace("NAME", KERNEL)


@pytest.mark.parametrize(("source", "first_wrong"), [(OVERFLOWS, 2**19), (ONE_WAVE, 132 * 256)])
async def test_a_kernel_right_at_the_test_sizes_is_wrong_at_the_size_that_finds_it_out(source, first_wrong):
    problem = CATALOGUE.problem("vector_add")
    request = RunRequest(groups=("test", "held_out", "eval"), seeds=1, model=False)
    candidate = Source(text="#include <cuda_runtime.h>\n" + source, problem="vector_add")

    result = await run(candidate, problem, CpuToolchain(), request, expected=CATALOGUE.expected, secret=b"secret")

    assert result.status == "wrong"
    assert {case.status for case in result.cases if case.group != "eval"} == {"passed"}
    wrong = next(case for case in result.cases if case.sizes == {"n": 1048576})
    assert wrong.mismatch.index == (first_wrong,)
    assert "was never written" in wrong.message
    assert result.large_sizes_left_out == 2


async def test_the_kernel_that_draws_on_a_device_gives_the_words_of_the_host():
    result = await run(Source(text="#include <cuda_runtime.h>\n" + SOURCE + LAUNCH), None, CpuToolchain())

    words = [int(line, 16) for line in result.program.stdout.split()]
    key = 0x0123456789ABCDEF_FEDCBA9876543210
    assert words == [int(word) for first in (0, 5, 2**32 + 3) for word in words_on_host(key, first, 67)]
