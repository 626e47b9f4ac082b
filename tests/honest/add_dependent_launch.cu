// problem: vector_add
// technique: two kernels with programmatic dependent launch (cudaLaunchAttributeProgrammaticStreamSerialization)
#include <cuda_runtime.h>
__global__ void copy(const float* a, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i];
    cudaTriggerProgrammaticLaunchCompletion();
}
__global__ void accumulate(const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float term = i < n ? b[i] : 0.0f;
    cudaGridDependencySynchronize();
    if (i < n) out[i] += term;
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    copy<<<(n + 255) / 256, 256, 0, stream>>>(a, out, n);
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3((n + 255) / 256);
    config.blockDim = dim3(256);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    return cudaLaunchKernelEx(&config, accumulate, b, out, n);
}
