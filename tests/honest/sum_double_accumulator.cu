// problem: reduction
// technique: accumulation in double, atomics on a double that `init` allocated
#include <cuda_runtime.h>
static double* total;
__global__ void clear(double* total) { *total = 0; }
__global__ void sum(const float* x, double* total, int n) {
    double value = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) value += x[i];
    for (int d = 16; d; d /= 2) value += __shfl_down_sync(~0u, value, d);
    if (threadIdx.x % 32 == 0) atomicAdd(total, value);
}
__global__ void round_off(const double* total, float* out) { *out = static_cast<float>(*total); }
extern "C" int init(long) { return cudaMalloc(&total, sizeof(double)); }
extern "C" int solve(const float* x, float* out, int n, cudaStream_t stream) {
    clear<<<1, 1, 0, stream>>>(total);
    sum<<<8, 128, 0, stream>>>(x, total, n);
    round_off<<<1, 1, 0, stream>>>(total, out);
    return 0;
}
