// problem: stencil2d
// technique: the grid copied into a padded workspace that stays in the L2 cache, no branches on the border afterwards
#include <cuda_runtime.h>
__global__ void pad(const float* x, float* padded, int rows, int cols) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y;
    if (c < cols + 2) padded[r * (cols + 2) + c] = x[min(max(r - 1, 0), rows - 1) * cols + min(max(c - 1, 0), cols - 1)];
}
__global__ void stencil(const float* padded, float* out, int rows, int cols, float alpha) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y, pitch = cols + 2, i = (r + 1) * pitch + c + 1;
    if (c >= cols) return;
    const float inner = r > 0 && r < rows - 1 && c > 0 && c < cols - 1 ? alpha : 0;
    out[r * cols + c] = padded[i] + inner * (padded[i - pitch] + padded[i + pitch] + padded[i - 1] + padded[i + 1] - 4 * padded[i]);
}
extern "C" size_t workspace_bytes(long rows, long cols) { return (rows + 2) * (cols + 2) * sizeof(float); }
extern "C" int solve(const float* x, float* out, int rows, int cols, float alpha, float* workspace, size_t, cudaStream_t stream) {
    pad<<<dim3((cols + 2 + 63) / 64, rows + 2), 64, 0, stream>>>(x, workspace, rows, cols);
    stencil<<<dim3((cols + 63) / 64, rows), 64, 0, stream>>>(workspace, out, rows, cols, alpha);
    return 0;
}
