// kind: persisting L2
// tries: the access policy window as an attribute of the launch
// replayed: contract_violation/unavailable/passed |
#include <cuda_runtime.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeAccessPolicyWindow;
    attribute.val.accessPolicyWindow.base_ptr = const_cast<float*>(a);
    attribute.val.accessPolicyWindow.num_bytes = sizeof(float) * n;
    attribute.val.accessPolicyWindow.hitRatio = 1.0f;
    attribute.val.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
    attribute.val.accessPolicyWindow.missProp = cudaAccessPropertyNormal;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3((n + 255) / 256);
    config.blockDim = dim3(256);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    return cudaLaunchKernelEx(&config, add, a, b, out, n);
}
