// kind: forged result channels
// tries: ask for a workspace of a petabyte
// replayed: contract_violation/crashed | workspace
#include <cuda_runtime.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" size_t workspace_bytes(long) { return 1ull << 50; }
extern "C" int solve(const float* a, const float* b, float* out, int n, void*, size_t, cudaStream_t stream) {
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
