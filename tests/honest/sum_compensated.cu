// problem: reduction
// technique: Kahan summation per thread, float4 loads where they are aligned
#include <cuda_runtime.h>
__device__ void add(float& total, float& lost, float value) {
    const float y = __fsub_rn(value, lost), t = __fadd_rn(total, y);
    lost = __fsub_rn(__fsub_rn(t, total), y);
    total = t;
}
__global__ void sum(const float* x, float* out, int n) {
    float total = 0, lost = 0;
    for (int i = threadIdx.x; i < n / 4; i += 256) {
        const float4 v = __ldg(reinterpret_cast<const float4*>(x) + i);
        add(total, lost, v.x), add(total, lost, v.y), add(total, lost, v.z), add(total, lost, v.w);
    }
    if (threadIdx.x == 0)
        for (int i = n / 4 * 4; i < n; ++i) add(total, lost, x[i]);
    __shared__ float part[256];
    part[threadIdx.x] = total;
    __syncthreads();
    if (threadIdx.x == 0) {
        float all = 0, rest = 0;
        for (int i = 0; i < 256; ++i) add(all, rest, part[i]);
        *out = all;
    }
}
extern "C" int solve(const float* x, float* out, int n, cudaStream_t stream) {
    sum<<<1, 256, 0, stream>>>(x, out, n);
    return 0;
}
