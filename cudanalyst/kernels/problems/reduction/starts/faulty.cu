#include <cuda_runtime.h>

constexpr int THREADS = 128;
constexpr int PER_THREAD = 16;

__global__ void sum(const float* __restrict__ x, float* __restrict__ out, int n) {
    __shared__ float partial[THREADS];
    const int tid = threadIdx.x;
    float total = 0.0f;
    for (int k = 0; k < PER_THREAD; ++k) {
        const int i = (blockIdx.x * PER_THREAD + k) * THREADS + tid;
        if (i < n) {
            total += x[i];
        }
    }
    partial[tid] = total;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (tid < half) {
            partial[tid] += partial[tid + half];
        }
        __syncthreads();
    }
    if (tid == 0) {
        atomicAdd(out, partial[0]);
    }
}

extern "C" int solve(const float* x, float* out, int n, cudaStream_t stream) {
    const int blocks = (n + THREADS * PER_THREAD - 1) / (THREADS * PER_THREAD);
    sum<<<blocks, THREADS, 0, stream>>>(x, out, n);
    return 0;
}
