// problem: vector_add
// technique: cudaLaunchKernel with an array of arguments, the kernel chosen from a table of instances of a template
#include <cuda_runtime.h>
template <int ITEMS>
__global__ void add(const float* a, const float* b, float* out, int n) {
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
        const int i = (blockIdx.x * ITEMS + k) * blockDim.x + threadIdx.x;
        if (i < n) out[i] = a[i] + b[i];
    }
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    static const void* const kernels[] = {reinterpret_cast<const void*>(&add<1>), reinterpret_cast<const void*>(&add<2>), reinterpret_cast<const void*>(&add<4>)};
    const int pick = n < 512 ? 0 : n < 2048 ? 1 : 2, per_block = 128 << pick;
    void* arguments[] = {&a, &b, &out, &n};
    return cudaLaunchKernel(kernels[pick], dim3((n + per_block - 1) / per_block), dim3(128), arguments, 0, stream);
}
