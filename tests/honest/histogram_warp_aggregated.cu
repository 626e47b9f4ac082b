// problem: histogram
// technique: lanes with equal keys elect one that adds for all (__match_any_sync)
#include <cuda_runtime.h>
__global__ void count(const int* keys, int* counts, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int key = i < n ? keys[i] : -1;
    const unsigned same = __match_any_sync(~0u, key);
    if (key >= 0 && __ffs(same) - 1 == threadIdx.x % 32) atomicAdd(&counts[key], __popc(same));
}
extern "C" int solve(const int* keys, int* counts, int n, int bins, cudaStream_t stream) {
    cudaMemsetAsync(counts, 0, bins * sizeof(int), stream);
    count<<<(n + 127) / 128, 128, 0, stream>>>(keys, counts, n);
    return 0;
}
