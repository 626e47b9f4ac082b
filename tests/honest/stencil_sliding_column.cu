// problem: stencil2d
// technique: each thread slides down a column with three rows in registers
#include <cuda_runtime.h>
__global__ void stencil(const float* __restrict__ x, float* __restrict__ out, int rows, int cols, float alpha) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.y * 8, last = min(first + 8, rows);
    if (c >= cols) return;
    float above = first > 0 ? x[(first - 1) * cols + c] : 0, here = x[first * cols + c];
    for (int r = first; r < last; ++r) {
        const float below = r + 1 < rows ? x[(r + 1) * cols + c] : 0;
        float value = here;
        if (r > 0 && r < rows - 1 && c > 0 && c < cols - 1) value += alpha * (above + below + x[r * cols + c - 1] + x[r * cols + c + 1] - 4 * here);
        out[r * cols + c] = value;
        above = here, here = below;
    }
}
extern "C" int solve(const float* x, float* out, int rows, int cols, float alpha, cudaStream_t stream) {
    stencil<<<dim3((cols + 63) / 64, (rows + 7) / 8), 64, 0, stream>>>(x, out, rows, cols, alpha);
    return 0;
}
