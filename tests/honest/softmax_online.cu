// problem: softmax
// technique: one pass for maximum and sum (online), a template over the block size picked by the width
#include <cuda_runtime.h>
template <int THREADS>
__global__ void softmax(const float* x, float* out, int cols) {
    __shared__ float maxima[THREADS], sums[THREADS];
    x += blockIdx.x * cols, out += blockIdx.x * cols;
    float largest = -INFINITY, sum = 0;
    for (int c = threadIdx.x; c < cols; c += THREADS) {
        const float value = x[c], before = largest;
        largest = fmaxf(largest, value);
        sum = sum * (before == largest ? 1.0f : expf(before - largest)) + expf(value - largest);
    }
    maxima[threadIdx.x] = largest, sums[threadIdx.x] = sum;
    __syncthreads();
    float all = -INFINITY, total = 0;
    for (int t = 0; t < THREADS; ++t) all = fmaxf(all, maxima[t]);
    for (int t = 0; t < THREADS; ++t) total += sums[t] == 0 ? 0 : sums[t] * expf(maxima[t] - all);
    for (int c = threadIdx.x; c < cols; c += THREADS) out[c] = expf(x[c] - all) / total;
}
extern "C" int solve(const float* x, float* out, int rows, int cols, cudaStream_t stream) {
    if (cols > 64) softmax<64><<<rows, 64, 0, stream>>>(x, out, cols);
    else softmax<32><<<rows, 32, 0, stream>>>(x, out, cols);
    return 0;
}
