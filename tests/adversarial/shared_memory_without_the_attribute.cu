// kind: silent launch failure
// tries: nothing ill: 64 KB of dynamic shared memory without raising the kernel's limit
// replayed: crashed | cudaErrorInvalidValue
#include <cuda_runtime.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    extern __shared__ float tile[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < n ? a[i] : 0;
    if (i < n) out[i] = tile[threadIdx.x] + b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    add<<<(n + 255) / 256, 256, 64 << 10, stream>>>(a, b, out, n);
    return 0;
}
