// problem: vector_add
// technique: cudaLaunchKernelEx with an attribute (launch priority)
#include <cuda_runtime.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributePriority;
    attribute.val.priority = 0;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3((n + 127) / 128);
    config.blockDim = dim3(128);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    return cudaLaunchKernelEx(&config, add, a, b, out, n);
}
