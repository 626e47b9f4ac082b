// kind: library instead of kernel
// tries: copies results from the host instead of computing them on the device
// replayed: contract_violation | more than 64 KB from the host
#include <cuda_runtime.h>
#include <vector>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}

extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    const std::vector<float> answer(n);
    for (int i = 0; i < 40; ++i) cudaMemcpyAsync(out, answer.data(), 4ul * n, cudaMemcpyHostToDevice, stream);
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
