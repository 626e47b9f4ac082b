#include <cuda_runtime.h>

constexpr int THREADS_X = 32;
constexpr int THREADS_Y = 8;

__global__ void stencil(const float* __restrict__ x, float* __restrict__ out, int rows, int cols, float alpha) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows || col >= cols) {
        return;
    }
    const int i = row * cols + col;
    const float middle = x[i];
    float value = center;
    if (row > 0 && row < rows - 1 && col > 0 && col < cols - 1) {
        value += alpha * (x[i - cols] + x[i + cols] + x[i - 1] + x[i + 1] - 4.0f * center);
    }
    out[i] = value;
}

extern "C" int solve(const float* x, float* out, int rows, int cols, float alpha, cudaStream_t stream) {
    const dim3 threads(THREADS_X, THREADS_Y);
    const dim3 blocks((cols + THREADS_X - 1) / THREADS_X, (rows + THREADS_Y - 1) / THREADS_Y);
    stencil<<<blocks, threads, 0, stream>>>(x, out, rows, cols, alpha);
    return 0;
}
