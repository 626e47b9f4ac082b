// problem: reduction
// technique: float atomics in any order after a memset: equal inputs may give results that differ in the last place
#include <cuda_runtime.h>
__global__ void sum(const float* x, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = i < n ? x[i] : 0;
    for (int d = 16; d; d /= 2) value += __shfl_down_sync(~0u, value, d);
    if (threadIdx.x % 32 == 0) atomicAdd(out, value);
}
extern "C" int solve(const float* x, float* out, int n, cudaStream_t stream) {
    cudaMemsetAsync(out, 0, sizeof(float), stream);
    sum<<<(n + 127) / 128, 128, 0, stream>>>(x, out, n);
    return 0;
}
