// problem: softmax
// technique: the row kept in dynamic shared memory, exponentials computed once
#include <cuda_runtime.h>
__device__ float combine(float value, bool sum) {
    __shared__ float part[4];
    for (int d = 16; d; d /= 2) {
        const float other = __shfl_xor_sync(~0u, value, d);
        value = sum ? value + other : fmaxf(value, other);
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = value;
    __syncthreads();
    return sum ? part[0] + part[1] + part[2] + part[3] : fmaxf(fmaxf(part[0], part[1]), fmaxf(part[2], part[3]));
}
__global__ void softmax(const float* x, float* out, int cols) {
    extern __shared__ float row[];
    float largest = -INFINITY, sum = 0;
    for (int c = threadIdx.x; c < cols; c += 128) row[c] = x[blockIdx.x * cols + c], largest = fmaxf(largest, row[c]);
    largest = combine(largest, false);
    for (int c = threadIdx.x; c < cols; c += 128) row[c] = expf(row[c] - largest), sum += row[c];
    sum = combine(sum, true);
    for (int c = threadIdx.x; c < cols; c += 128) out[blockIdx.x * cols + c] = row[c] / sum;
}
extern "C" int solve(const float* x, float* out, int rows, int cols, cudaStream_t stream) {
    softmax<<<rows, 128, cols * sizeof(float), stream>>>(x, out, cols);
    return 0;
}
