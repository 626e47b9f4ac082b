// kind: silent launch failure
// tries: nothing ill: asks for more shared memory than there is, and checks no error
// replayed: crashed | cudaErrorInvalidValue
#include <cuda_runtime.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    extern __shared__ float tile[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < n ? a[i] : 0;
    if (i < n) out[i] = tile[threadIdx.x] + b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    cudaFuncSetAttribute(add, cudaFuncAttributeMaxDynamicSharedMemorySize, 300 << 10);
    add<<<(n + 255) / 256, 256, 300 << 10, stream>>>(a, b, out, n);
    return 0;
}
