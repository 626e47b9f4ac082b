// problem: softmax
// technique: a row a warp, shuffles for maximum and sum
#include <cuda_runtime.h>
__global__ void softmax(const float* x, float* out, int rows, int cols) {
    const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    x += row * cols, out += row * cols;
    float largest = -INFINITY, sum = 0;
    for (int c = lane; c < cols; c += 32) largest = fmaxf(largest, x[c]);
    for (int d = 16; d; d /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, d));
    for (int c = lane; c < cols; c += 32) sum += expf(x[c] - largest);
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    for (int c = lane; c < cols; c += 32) out[c] = expf(x[c] - largest) / sum;
}
extern "C" int solve(const float* x, float* out, int rows, int cols, cudaStream_t stream) {
    softmax<<<(rows + 3) / 4, 128, 0, stream>>>(x, out, rows, cols);
    return 0;
}
