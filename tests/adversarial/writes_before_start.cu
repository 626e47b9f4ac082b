// kind: out-of-range writes
// tries: clears one element before its output
// replayed: contract_violation | beyond the start of buffer `out`
#include <cuda_runtime.h>

__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}

__global__ void early(float* out) { out[-1] = 0.0f; }

extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    early<<<1, 1, 0, stream>>>(out);
    return 0;
}
