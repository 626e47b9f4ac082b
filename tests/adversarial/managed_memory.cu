// kind: contract
// tries: keeps memory that the host can write while kernels read it
// replayed: contract_violation | managed memory is memory that host code reaches too
#include <cuda_runtime.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
static float* kept;
extern "C" int init(long long n) { return cudaMallocManaged(reinterpret_cast<void**>(&kept), 4 * n); }

extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
