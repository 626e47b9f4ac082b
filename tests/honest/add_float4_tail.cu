// problem: vector_add
// technique: 16-byte loads and stores, scalar tail
#include <cuda_runtime.h>
__global__ void add(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ out, int n) {
    const int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 3 < n) {
        const float4 p = *reinterpret_cast<const float4*>(a + i), q = *reinterpret_cast<const float4*>(b + i);
        *reinterpret_cast<float4*>(out + i) = make_float4(p.x + q.x, p.y + q.y, p.z + q.z, p.w + q.w);
    } else {
        for (int k = i; k < n; ++k) out[k] = a[k] + b[k];
    }
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    add<<<(n + 511) / 512, 128, 0, stream>>>(a, b, out, n);
    return 0;
}
