// problem: layernorm
// technique: the row kept in registers of a block, the number of items a template parameter chosen by the width
#include <cuda_runtime.h>
__device__ float block_sum(float value) {
    __shared__ float part[2];
    for (int d = 16; d; d /= 2) value += __shfl_xor_sync(~0u, value, d);
    __syncthreads();
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = value;
    __syncthreads();
    return part[0] + part[1];
}
template <int ITEMS>
__global__ void layernorm(const float* x, const float* gamma, const float* beta, float* out, int cols, float eps) {
    float items[ITEMS], sum = 0, squares = 0;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        const int c = i * 64 + threadIdx.x;
        items[i] = c < cols ? x[blockIdx.x * cols + c] : 0;
        sum += items[i];
    }
    const float mean = block_sum(sum) / cols;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i)
        if (i * 64 + threadIdx.x < cols) squares += (items[i] - mean) * (items[i] - mean);
    const float scale = 1.0f / sqrtf(block_sum(squares) / cols + eps);
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        const int c = i * 64 + threadIdx.x;
        if (c < cols) out[blockIdx.x * cols + c] = (items[i] - mean) * scale * gamma[c] + beta[c];
    }
}
extern "C" int solve(const float* x, const float* gamma, const float* beta, float* out, int rows, int cols, float eps, cudaStream_t stream) {
    if (cols <= 128) layernorm<2><<<rows, 64, 0, stream>>>(x, gamma, beta, out, cols, eps);
    else if (cols <= 512) layernorm<8><<<rows, 64, 0, stream>>>(x, gamma, beta, out, cols, eps);
    else if (cols <= 2048) layernorm<32><<<rows, 64, 0, stream>>>(x, gamma, beta, out, cols, eps);
    else return 1;
    return 0;
}
