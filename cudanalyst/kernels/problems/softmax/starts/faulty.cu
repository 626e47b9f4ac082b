#include <cuda_runtime.h>

constexpr int THREADS = 128;

// One row per block.
__global__ void softmax(const float* __restrict__ x, float* __restrict__ out, int cols) {
    __shared__ float partial[THREADS];
    const int tid = threadIdx.x;
    const float* source = x + (long)blockIdx.x * cols;
    float* target = out + (long)blockIdx.x * cols;
    float largest = -INFINITY;
    for (int c = tid; c < cols; c += THREADS) {
        largest = fmaxf(largest, source[c]);
    }
    partial[tid] = largest;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (tid < half) {
            partial[tid] = fmaxf(partial[tid], partial[tid + half]);
        }
        __syncthreads();
    }
    largest = partial[0];
    __syncthreads();
    float sum = 0.0f;
    for (int c = tid; c < cols; c += THREADS) {
        sum += expf(source[c] - largest);
    }
    partial[tid] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (tid < half) {
            partial[tid] += partial[tid + half];
            __syncthreads();
        }
    }
    const float scale = 1.0f / partial[0];
    for (int c = tid; c < cols; c += THREADS) {
        target[c] = expf(source[c] - largest) * scale;
    }
}

extern "C" int solve(const float* x, float* out, int rows, int cols, cudaStream_t stream) {
    softmax<<<rows, THREADS, 0, stream>>>(x, out, cols);
    return 0;
}
