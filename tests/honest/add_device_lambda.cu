// problem: vector_add
// technique: a generic kernel over an extended lambda
// flags: --extended-lambda
#include <cuda_runtime.h>
template <typename F>
__global__ void each(int n, F f) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) f(i);
}
template <typename F>
void for_each(cudaStream_t stream, int n, F f) { each<<<32, 128, 0, stream>>>(n, f); }
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    for_each(stream, n, [=] __device__(int i) { out[i] = a[i] + b[i]; });
    return 0;
}
