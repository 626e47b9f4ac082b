#include <cuda_runtime.h>

__global__ void histogram(const int* __restrict__ keys, int* __restrict__ counts, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&counts[keys[i]], 1);
    }
}

extern "C" int solve(const int* keys, int* counts, int n, int bins, cudaStream_t stream) {
    cudaMemsetAsync(counts, 0, bins * sizeof(int), stream);
    histogram<<<(n + 255) / 256, 256, 0, stream>>>(keys, counts, n);
    return 0;
}
