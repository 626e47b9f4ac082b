// kind: contract
// tries: return something else than 0 from init
// replayed: crashed | `init` returned 9, not 0
#include <cuda_runtime.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" int init(int n) { return 9; }
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
