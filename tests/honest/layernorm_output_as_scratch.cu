// problem: layernorm
// technique: the output serves as scratch for the centred row, scaled in place by a second kernel
#include <cuda_runtime.h>
__device__ float warp_sum(float v) {
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    return v;
}
__global__ void centre(const float* x, float* out, int cols) {
    float sum = 0;
    for (int c = threadIdx.x; c < cols; c += 32) sum += x[blockIdx.x * cols + c];
    const float mean = warp_sum(sum) / cols;
    for (int c = threadIdx.x; c < cols; c += 32) out[blockIdx.x * cols + c] = x[blockIdx.x * cols + c] - mean;
}
__global__ void scale(const float* gamma, const float* beta, float* out, int cols, float eps) {
    float squares = 0;
    out += blockIdx.x * cols;
    for (int c = threadIdx.x; c < cols; c += 32) squares += out[c] * out[c];
    const float factor = rsqrtf(warp_sum(squares) / cols + eps);
    for (int c = threadIdx.x; c < cols; c += 32) out[c] = out[c] * factor * gamma[c] + beta[c];
}
extern "C" int solve(const float* x, const float* gamma, const float* beta, float* out, int rows, int cols, float eps, cudaStream_t stream) {
    centre<<<rows, 32, 0, stream>>>(x, out, cols);
    scale<<<rows, 32, 0, stream>>>(gamma, beta, out, cols, eps);
    return 0;
}
