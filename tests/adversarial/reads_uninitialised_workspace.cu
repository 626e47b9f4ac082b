// kind: uninitialised reads
// tries: add into a workspace that it takes to be zero
// problem: reduction
// replayed: wrong | out[
#include <cuda_runtime.h>
__global__ void sum(const float* x, float* total, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(total, x[i]);
}
extern "C" size_t workspace_bytes(long) { return 256; }
extern "C" int solve(const float* x, float* out, int n, float* workspace, size_t, cudaStream_t stream) {
    sum<<<(n + 255) / 256, 256, 0, stream>>>(x, workspace, n);
    return cudaMemcpyAsync(out, workspace, sizeof(float), cudaMemcpyDeviceToDevice, stream);
}
