// problem: vector_add
// technique: a device-to-device copy into the output, then an addition in place
#include <cuda_runtime.h>
__global__ void accumulate(const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] += b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    cudaMemcpyAsync(out, a, sizeof(float) * n, cudaMemcpyDeviceToDevice, stream);
    accumulate<<<(n + 255) / 256, 256, 0, stream>>>(b, out, n);
    return 0;
}
