// kind: host code: signals
// tries: host code follows a null pointer
// replayed: crashed | SIGSEGV
#include <cuda_runtime.h>

__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}

extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    volatile int* nowhere = nullptr;
    *nowhere = 1;
    return 0;
}
