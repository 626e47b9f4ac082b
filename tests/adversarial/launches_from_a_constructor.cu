// kind: host code: constructors
// tries: start work before there are inputs, from a constructor
// replayed: passed |
// because: constructors of a library come before its kernels are registered, so the launch fails there and in no call; what `solve` does is honest
#include <cuda_runtime.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
__device__ float own[256];
__global__ void fill() { own[threadIdx.x] = 1; }
__attribute__((constructor)) static void early() { fill<<<1, 256>>>(); }
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
