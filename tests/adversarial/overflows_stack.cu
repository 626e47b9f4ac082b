// kind: host code: signals
// tries: recurses until the host stack is full
// replayed: crashed | SIGSEGV
#include <cuda_runtime.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
static int deeper(volatile int depth) {
    volatile char room[4096];
    room[0] = static_cast<char>(depth);
    return deeper(depth + 1) + room[0];
}

extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    return deeper(0);
}
