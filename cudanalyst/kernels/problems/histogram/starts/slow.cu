#include <cuda_runtime.h>

constexpr int THREADS = 128;
constexpr int PER_THREAD = 16;

__global__ void histogram(const int* __restrict__ keys, int* __restrict__ counts, int n, int bins) {
    const int first = blockIdx.x * THREADS * PER_THREAD;
    for (int k = 0; k < PER_THREAD; ++k) {
        const int i = first + threadIdx.x * PER_THREAD + k;
        if (i < n) {
            atomicAdd(&counts[keys[i]], 1);
        }
    }
}

extern "C" int solve(const int* keys, int* counts, int n, int bins, cudaStream_t stream) {
    const int blocks = (n + THREADS * PER_THREAD - 1) / (THREADS * PER_THREAD);
    cudaMemsetAsync(counts, 0, bins * sizeof(int), stream);
    histogram<<<blocks, THREADS, 0, stream>>>(keys, counts, n, bins);
    return 0;
}
