// kind: silent launch failure
// tries: asks for more threads than a block may have, and does not look
// replayed: crashed | cudaErrorInvalid
#include <cuda_runtime.h>

__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}

extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    add<<<(n + 2047) / 2048, 2048, 0, stream>>>(a, b, out, n);
    return 0;
}
