// kind: out-of-range writes
// tries: writes where nothing is allocated
// replayed: crashed | cudaErrorIllegalAddress
#include <cuda_runtime.h>

__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}

__global__ void far(float* out) { out[1ll << 34] = 0.0f; }

extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    far<<<1, 1, 0, stream>>>(out);
    return 0;
}
