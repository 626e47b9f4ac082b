// problem: reduction
// technique: the last block to finish adds up: a __device__ counter that puts itself back to zero, and __threadfence
#include <cuda_runtime.h>
__device__ float partial[64];
__device__ unsigned finished;
__global__ void sum(const float* x, float* out, int n) {
    __shared__ float part[128];
    __shared__ bool last;
    float value = 0;
    for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128) value += x[i];
    part[threadIdx.x] = value;
    __syncthreads();
    for (int d = 64; d; d /= 2) {
        if (threadIdx.x < d) part[threadIdx.x] += part[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = part[0];
        __threadfence();
        last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float total = 0;
        for (int i = 0; i < gridDim.x; ++i) total += *static_cast<volatile float*>(&partial[i]);
        *out = total;
    }
}
extern "C" int solve(const float* x, float* out, int n, cudaStream_t stream) {
    sum<<<16, 128, 0, stream>>>(x, out, n);
    return 0;
}
