// problem: vector_add
// technique: the block size that cudaOccupancyMaxPotentialBlockSize suggests, kept in a static
#include <cuda_runtime.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    static int block = 0;
    int blocks = 0;
    if (block == 0 && cudaOccupancyMaxPotentialBlockSize(&blocks, &block, add, 0, 0)) return 1;
    add<<<(n + block - 1) / block, block, 0, stream>>>(a, b, out, n);
    return cudaPeekAtLastError();
}
