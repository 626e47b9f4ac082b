// kind: contract
// tries: keeps a variable that the host can write while kernels read it
// replayed: contract_violation | a __managed__ variable
#include <cuda_runtime.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
__managed__ float kept[16];

extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    kept[0] = 1;
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
