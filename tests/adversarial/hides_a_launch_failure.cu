// kind: silent launch failure
// tries: take the error of a launch that failed away, so that nobody sees it
// replayed: wrong | was never written
#include <cuda_runtime.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    add<<<(n + 255) / 256, 2048, 0, stream>>>(a, b, out, n);
    cudaGetLastError();
    return 0;
}
