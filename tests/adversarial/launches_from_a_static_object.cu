// kind: host code: constructors
// tries: start work before there are inputs, from an object's constructor, which comes after the kernels are registered
// replayed: passed |
// because: what is launched there belongs to `init`: it is recorded, replayed before any input exists, and its memory is the module's own
#include <cuda_runtime.h>
__device__ float own[256];
__global__ void fill() { own[threadIdx.x] = 1; }
struct Early {
    Early() { fill<<<1, 256>>>(); }
};
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = (a[i] + b[i]) * own[i % 256];
}
static Early early;
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
