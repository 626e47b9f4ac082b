// kind: uninitialised reads
// tries: count with a counter of `init` that is zero in the first call only
// problem: reduction
// replayed: wrong | out[
#include <cuda_runtime.h>
static float* total;
extern "C" int init(long) { return cudaMalloc(&total, 256) || cudaMemset(total, 0, 256); }
__global__ void sum(const float* x, float* total, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(total, x[i]);
}
extern "C" int solve(const float* x, float* out, int n, cudaStream_t stream) {
    sum<<<(n + 255) / 256, 256, 0, stream>>>(x, total, n);
    return cudaMemcpyAsync(out, total, sizeof(float), cudaMemcpyDeviceToDevice, stream);
}
