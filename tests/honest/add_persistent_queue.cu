// problem: vector_add
// technique: a persistent kernel that takes tiles from a counter in the workspace, cleared in each call
#include <cuda_runtime.h>
constexpr int T = 128;
__global__ void add(const float* a, const float* b, float* out, int n, int* next) {
    __shared__ int tile;
    for (;;) {
        if (threadIdx.x == 0) tile = atomicAdd(next, 1);
        __syncthreads();
        const int first = tile * T;
        __syncthreads();
        if (first >= n) return;
        if (first + threadIdx.x < n) out[first + threadIdx.x] = a[first + threadIdx.x] + b[first + threadIdx.x];
    }
}
extern "C" size_t workspace_bytes(long) { return sizeof(int); }
extern "C" int solve(const float* a, const float* b, float* out, int n, void* workspace, size_t bytes, cudaStream_t stream) {
    if (bytes < sizeof(int)) return 1;
    cudaMemsetAsync(workspace, 0, sizeof(int), stream);
    add<<<6, T, 0, stream>>>(a, b, out, n, static_cast<int*>(workspace));
    return 0;
}
