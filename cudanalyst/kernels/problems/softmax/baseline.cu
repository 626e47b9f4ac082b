#include <cuda_runtime.h>

constexpr int THREADS = 128;

// One row per block; each thread takes elements that follow each other.
__global__ void softmax(const float* __restrict__ x, float* __restrict__ out, int cols) {
    __shared__ float partial[THREADS];
    __shared__ float combined;
    const int chunk = (cols + THREADS - 1) / THREADS;
    const int first = threadIdx.x * chunk;
    const int last = min(first + chunk, cols);
    const float* source = x + (long)blockIdx.x * cols;
    float* target = out + (long)blockIdx.x * cols;
    float largest = -INFINITY;
    for (int c = first; c < last; ++c) {
        largest = fmaxf(largest, source[c]);
    }
    partial[threadIdx.x] = largest;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int t = 1; t < THREADS; ++t) {
            largest = fmaxf(largest, partial[t]);
        }
        combined = largest;
    }
    __syncthreads();
    largest = combined;
    float sum = 0.0f;
    for (int c = first; c < last; ++c) {
        sum += expf(source[c] - largest);
    }
    partial[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int t = 1; t < THREADS; ++t) {
            sum += partial[t];
        }
        combined = sum;
    }
    __syncthreads();
    sum = combined;
    for (int c = first; c < last; ++c) {
        target[c] = expf(source[c] - largest) / sum;
    }
}

extern "C" int solve(const float* x, float* out, int rows, int cols, cudaStream_t stream) {
    softmax<<<rows, THREADS, 0, stream>>>(x, out, cols);
    return 0;
}
