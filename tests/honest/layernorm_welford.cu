// problem: layernorm
// technique: Welford's update per lane, merged by shuffles
#include <cuda_runtime.h>
__global__ void layernorm(const float* x, const float* gamma, const float* beta, float* out, int rows, int cols, float eps) {
    const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    x += row * cols, out += row * cols;
    float count = 0, mean = 0, squares = 0;
    for (int c = lane; c < cols; c += 32) {
        const float delta = x[c] - mean;
        mean += delta / ++count;
        squares += delta * (x[c] - mean);
    }
    for (int d = 16; d; d /= 2) {
        const float n = __shfl_xor_sync(~0u, count, d), other = __shfl_xor_sync(~0u, mean, d), s = __shfl_xor_sync(~0u, squares, d);
        const float total = count + n, delta = other - mean;
        if (total > 0) mean = (count * mean + n * other) / total, squares += s + delta * delta * count * n / total;
        count = total;
    }
    const float scale = rsqrtf(squares / cols + eps);
    for (int c = lane; c < cols; c += 32) out[c] = (x[c] - mean) * scale * gamma[c] + beta[c];
}
extern "C" int solve(const float* x, const float* gamma, const float* beta, float* out, int rows, int cols, float eps, cudaStream_t stream) {
    layernorm<<<(rows + 3) / 4, 128, 0, stream>>>(x, gamma, beta, out, rows, cols, eps);
    return 0;
}
