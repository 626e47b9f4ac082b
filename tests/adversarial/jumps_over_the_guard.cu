// kind: out-of-range writes
// tries: write beyond the guard zone, where another buffer may lie
// replayed: contract_violation/crashed |
// gpu: passed/contract_violation/crashed |
// because: a GPU maps megabytes at once, so the write may land where nobody looks; it gains nothing, since outputs are right without it, and debug finds it
#include <cuda_runtime.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
__global__ void far(float* out, int n) { out[n + 4096 / 4 + 1024 + 8] = 1.0f; }
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    far<<<1, 1, 0, stream>>>(out, n);
    return 0;
}
