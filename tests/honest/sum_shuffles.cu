// problem: reduction
// technique: warp shuffles, one block, no atomics
#include <cuda_runtime.h>
__global__ void sum(const float* __restrict__ x, float* out, int n) {
    __shared__ float partial[32];
    float total = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) total += x[i];
    for (int d = 16; d; d /= 2) total += __shfl_down_sync(~0u, total, d);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = total;
    __syncthreads();
    if (threadIdx.x < 32) {
        total = partial[threadIdx.x];
        for (int d = 16; d; d /= 2) total += __shfl_xor_sync(~0u, total, d);
        if (threadIdx.x == 0) *out = total;
    }
}
extern "C" int solve(const float* x, float* out, int n, cudaStream_t stream) {
    sum<<<1, 1024, 0, stream>>>(x, out, n);
    return 0;
}
