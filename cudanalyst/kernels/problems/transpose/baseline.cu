#include <cuda_runtime.h>

__global__ void transpose(const float* __restrict__ x, float* __restrict__ out, int rows, int cols) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && col < cols) {
        out[col * rows + row] = x[row * cols + col];
    }
}

extern "C" int solve(const float* x, float* out, int rows, int cols, cudaStream_t stream) {
    const dim3 threads(32, 8);
    const dim3 blocks((cols + 31) / 32, (rows + 7) / 8);
    transpose<<<blocks, threads, 0, stream>>>(x, out, rows, cols);
    return 0;
}
