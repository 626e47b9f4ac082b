// problem: transpose
// technique: blocks of 4 x 4 exchanged between lanes by shuffles
#include <cuda_runtime.h>
__global__ void transpose(const float* x, float* out, int rows, int cols) {
    const int lane = threadIdx.x % 16, r0 = blockIdx.y * 4, c0 = (blockIdx.x * blockDim.y + threadIdx.y) * 4;
    const int r = r0 + lane / 4, c = c0 + lane % 4;
    const float value = r < rows && c < cols ? x[r * cols + c] : 0;
    const float other = __shfl_sync(~0u, value, lane % 4 * 4 + lane / 4, 16);
    const int to_row = c0 + lane / 4, to_col = r0 + lane % 4;
    if (to_row < cols && to_col < rows) out[to_row * rows + to_col] = other;
}
extern "C" int solve(const float* x, float* out, int rows, int cols, cudaStream_t stream) {
    transpose<<<dim3((cols + 31) / 32, (rows + 3) / 4), dim3(16, 8), 0, stream>>>(x, out, rows, cols);
    return 0;
}
