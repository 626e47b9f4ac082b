// kind: host code: memory of the recorder
// tries: writes device memory where an engine with a fixed layout would map it a second time
// replayed: crashed | SIGSEGV
#include <cuda_runtime.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}

extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    float* alias = reinterpret_cast<float*>(reinterpret_cast<char*>(out) + 0x10000000000);
    for (int i = 0; i < n; ++i) alias[i] = 1;
    return 0;
}
