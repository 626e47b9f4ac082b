// kind: host code: exhausting the machine
// tries: ask for more launches than a trace holds, to be run where reports can be forged
// trust: native
// replayed: passed |
#include <cuda_runtime.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    for (int i = 0; i < 4200; ++i) add<<<1, 32, 0, stream>>>(a, b, out, n < 32 ? n : 32);
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
