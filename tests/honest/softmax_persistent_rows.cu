// problem: softmax
// technique: a fixed number of blocks walks over rows, fast exponentials by ex2.approx within the tolerance, fmaf
#include <cuda_runtime.h>
__device__ float fast_exp(float v) {
    // exp(v) = 2^(v log2 e), with the rounding of the product put back.
    const float high = v * 1.44269504f, low = fmaf(v, 1.44269504f, -high) + v * 1.92596299e-8f;
    float result;
    asm("ex2.approx.f32 %0, %1;" : "=f"(result) : "f"(high));
    return result * (1.0f + low * 0.693147182f);
}
__global__ void softmax(const float* x, float* out, int rows, int cols) {
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        const float* from = x + row * cols;
        float largest = -INFINITY, sum = 0;
        for (int c = threadIdx.x; c < cols; c += 32) largest = fmaxf(largest, from[c]);
        for (int d = 16; d; d /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, d));
        for (int c = threadIdx.x; c < cols; c += 32) sum += fast_exp(from[c] - largest);
        for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
        for (int c = threadIdx.x; c < cols; c += 32) out[row * cols + c] = fast_exp(from[c] - largest) / sum;
    }
}
extern "C" int solve(const float* x, float* out, int rows, int cols, cudaStream_t stream) {
    softmax<<<6, 32, 0, stream>>>(x, out, rows, cols);
    return 0;
}
