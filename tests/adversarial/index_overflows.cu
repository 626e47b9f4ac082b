// kind: out-of-range writes
// tries: nothing ill: a byte offset in 32 bits that becomes negative at large sizes
// replayed: crashed/contract_violation |
#include <cuda_runtime.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    // As if rows were 2^21 bytes apart: what a stride does at a size that nobody tried.
    if (i < n) out[i] = a[i] + b[i];
    const int offset = i * (1 << 21);
    if (i == 1024 + 512) out[offset / 4] = 0;
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    add<<<(n + 255) / 256 + 6, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
