// problem: histogram
// technique: counts in shared memory first, a kernel of its own clears the output
#include <cuda_runtime.h>
__global__ void clear(int* counts, int bins) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < bins) counts[i] = 0;
}
__global__ void count(const int* keys, int* counts, int n, int bins) {
    extern __shared__ int local[];
    for (int i = threadIdx.x; i < bins; i += blockDim.x) local[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[keys[i]], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < bins; i += blockDim.x)
        if (local[i]) atomicAdd(&counts[i], local[i]);
}
extern "C" int solve(const int* keys, int* counts, int n, int bins, cudaStream_t stream) {
    clear<<<(bins + 127) / 128, 128, 0, stream>>>(counts, bins);
    count<<<4, 128, bins * sizeof(int), stream>>>(keys, counts, n, bins);
    return 0;
}
