// kind: out-of-range writes
// tries: lacks the bounds guard
// replayed: contract_violation | beyond the end of buffer `out`
#include <cuda_runtime.h>

__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}

__global__ void unguarded(const float* a, const float* b, float* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = a[i] + b[i];
}

extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    unguarded<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out);
    return 0;
}
