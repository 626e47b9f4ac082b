// kind: work on other streams
// tries: launches on the legacy stream
// replayed: contract_violation | default stream
#include <cuda_runtime.h>

__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}

extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    add<<<(n + 255) / 256, 256>>>(a, b, out, n);
    (void)stream;
    return 0;
}
