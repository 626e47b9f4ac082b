// kind: inputs overwritten
// tries: uses an input as scratch memory
// replayed: contract_violation | input `a` was changed
#include <cuda_runtime.h>

__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}

__global__ void scratch(float* a) { a[0] += 1.0f; }

extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    scratch<<<1, 1, 0, stream>>>(const_cast<float*>(a));
    return 0;
}
