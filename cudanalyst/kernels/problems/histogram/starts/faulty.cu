#include <cuda_runtime.h>

constexpr int THREADS = 128;
constexpr int PER_THREAD = 16;
constexpr int MAX_BINS = 1024;

__global__ void histogram(const int* __restrict__ keys, int* __restrict__ counts, int n, int bins) {
    __shared__ int local[MAX_BINS];
    for (int bin = threadIdx.x; bin < bins; bin += THREADS) {
        local[bin] = 0;
    }
    const int first = blockIdx.x * THREADS * PER_THREAD;
    for (int k = 0; k < PER_THREAD; ++k) {
        const int i = first + k * THREADS + threadIdx.x;
        if (i < n) {
            atomicAdd(&local[keys[i]], 1);
        }
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < bins; bin += THREADS) {
        atomicAdd(&counts[bin], local[bin]);
    }
}

extern "C" int solve(const int* keys, int* counts, int n, int bins, cudaStream_t stream) {
    const int blocks = (n + THREADS * PER_THREAD - 1) / (THREADS * PER_THREAD);
    cudaMemsetAsync(counts, 0, bins * sizeof(int), stream);
    histogram<<<blocks, THREADS, 0, stream>>>(keys, counts, n, bins);
    return 0;
}
