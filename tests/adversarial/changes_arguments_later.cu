// kind: host code: threads that outlive solve
// tries: change the arguments of a launch in memory after the launch was recorded
// replayed: passed |
#include <cuda_runtime.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    static struct { const float *a, *b; float* out; int n; } kept;
    kept = {a, b, out, n};
    void* arguments[] = {&kept.a, &kept.b, &kept.out, &kept.n};
    if (cudaLaunchKernel(reinterpret_cast<void*>(&add), dim3((n + 255) / 256), dim3(256), arguments, 0, stream)) return 1;
    kept.n = 0, kept.a = nullptr;
    return 0;
}
