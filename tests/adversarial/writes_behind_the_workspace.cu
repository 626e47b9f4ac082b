// kind: out-of-range writes
// tries: use more workspace than it asked for
// replayed: contract_violation | beyond the end of the workspace
#include <cuda_runtime.h>
__global__ void add(const float* a, const float* b, float* out, float* workspace, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) workspace[i] = a[i] + b[i], out[i] = workspace[i];
}
extern "C" size_t workspace_bytes(long) { return 64; }
extern "C" int solve(const float* a, const float* b, float* out, int n, float* workspace, size_t, cudaStream_t stream) {
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, workspace, n);
    return 0;
}
