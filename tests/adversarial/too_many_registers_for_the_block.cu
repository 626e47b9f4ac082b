// kind: silent launch failure
// tries: nothing ill: a block larger than the kernel's own launch bounds
// replayed: crashed | cudaErrorInvalid
#include <cuda_runtime.h>
__global__ void __launch_bounds__(128) add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    add<<<(n + 511) / 512, 512, 0, stream>>>(a, b, out, n);
    return 0;
}
