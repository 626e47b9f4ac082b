// kind: work on other streams
// tries: leaves work on a stream of its own
// replayed: contract_violation | own stream
#include <cuda_runtime.h>

__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}

extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    static cudaStream_t own;
    if (!own) cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    add<<<(n + 255) / 256, 256, 0, own>>>(a, b, out, n);
    return 0;
}
