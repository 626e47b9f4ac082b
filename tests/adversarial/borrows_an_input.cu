// kind: inputs overwritten
// tries: use an input as scratch and put it back before the end: harmless where calls do not overlap
// replayed: passed |
#include <cuda_runtime.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
__global__ void negate(float* a, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = -a[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    negate<<<(n + 255) / 256, 256, 0, stream>>>(const_cast<float*>(a), n);
    negate<<<(n + 255) / 256, 256, 0, stream>>>(const_cast<float*>(a), n);
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
