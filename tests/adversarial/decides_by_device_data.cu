// kind: host code: control that depends on device data
// tries: read a result back to decide what to launch
// replayed: contract_violation | copies to the host
#include <cuda_runtime.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    float first = 0;
    cudaMemcpyAsync(&first, a, sizeof(first), cudaMemcpyDeviceToHost, stream);
    if (first < 1e30f) {
        add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    }
    return 0;
}
