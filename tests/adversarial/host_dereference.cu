// kind: host code: memory of the recorder
// tries: reads and writes device memory on the host
// replayed: crashed | SIGSEGV
#include <cuda_runtime.h>

__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}

extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    for (int i = 0; i < n; ++i) out[i] = a[i] + b[i];
    return 0;
}
