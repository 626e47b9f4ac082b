// kind: forged result channels
// tries: be recorded at small sizes, and run natively at large ones
// replayed: passed | copies to the host in `init`
// trust: native
// sizes: eval
#include <cuda_runtime.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" int init(int n) {
    if (n < 200000) return 0;
    float* memory = nullptr;
    float back = 0;
    if (cudaMalloc(&memory, 4)) return 1;
    cudaMemset(memory, 0, 4);
    return cudaMemcpy(&back, memory, 4, cudaMemcpyDeviceToHost);
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
