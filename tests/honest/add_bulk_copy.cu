// problem: vector_add
// technique: bulk asynchronous copies into shared memory that an mbarrier completes (TMA without a tensor map)
#include <cstdint>
#include <cuda_runtime.h>
constexpr int T = 256;
__device__ uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__global__ void add(const float* a, const float* b, float* out, int n) {
    __shared__ alignas(128) float tile[2][T];
    __shared__ alignas(8) uint64_t barrier;
    const int first = blockIdx.x * T, count = min(T, n - first), bulk = count / 4 * 4;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(shared_address(&barrier)));
        asm volatile("fence.proxy.async.shared::cta;");
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)), "r"(bulk * 8) : "memory");
        if (bulk)
            for (int k = 0; k < 2; ++k)
                asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared_address(tile[k])),
                             "l"((k ? b : a) + first), "r"(bulk * 4), "r"(shared_address(&barrier)) : "memory");
    }
    for (int i = bulk + threadIdx.x; i < count; i += T) tile[0][i] = a[first + i], tile[1][i] = b[first + i];
    uint32_t done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(shared_address(&barrier)) : "memory");
    __syncthreads();
    if (threadIdx.x < count) out[first + threadIdx.x] = tile[0][threadIdx.x] + tile[1][threadIdx.x];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    add<<<(n + T - 1) / T, T, 0, stream>>>(a, b, out, n);
    return 0;
}
