// problem: histogram
// technique: no atomics: a warp counts a bin with ballots
#include <cuda_runtime.h>
__global__ void count(const int* keys, int* counts, int n) {
    int total = 0;
    for (int first = 0; first < n; first += 32) {
        const int i = first + threadIdx.x;
        total += __popc(__ballot_sync(~0u, i < n && keys[i] == blockIdx.x));
    }
    if (threadIdx.x == 0) counts[blockIdx.x] = total;
}
extern "C" int solve(const int* keys, int* counts, int n, int bins, cudaStream_t stream) {
    count<<<bins, 32, 0, stream>>>(keys, counts, n);
    return 0;
}
