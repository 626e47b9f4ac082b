// problem: layernorm
// technique: width and eps in __constant__ memory that `init` fills once, a volatile shared exchange within a warp
#include <cuda_runtime.h>
__constant__ int width;
__global__ void layernorm(const float* x, const float* gamma, const float* beta, float* out, float eps) {
    const int cols = width;
    x += blockIdx.x * cols, out += blockIdx.x * cols;
    double sum = 0, squares = 0;
    for (int c = threadIdx.x; c < cols; c += 32) sum += x[c];
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    const double mean = sum / cols;
    for (int c = threadIdx.x; c < cols; c += 32) squares += (x[c] - mean) * (x[c] - mean);
    for (int d = 16; d; d /= 2) squares += __shfl_xor_sync(~0u, squares, d);
    const double scale = 1 / sqrt(squares / cols + eps);
    for (int c = threadIdx.x; c < cols; c += 32) out[c] = static_cast<float>((x[c] - mean) * scale * gamma[c] + beta[c]);
}
extern "C" int init(long, long cols) {
    const int value = static_cast<int>(cols);
    return cudaMemcpyToSymbol(width, &value, sizeof(value));
}
extern "C" int solve(const float* x, const float* gamma, const float* beta, float* out, int rows, int cols, float eps, cudaStream_t stream) {
    layernorm<<<rows, 32, 0, stream>>>(x, gamma, beta, out, eps);
    return 0;
}
