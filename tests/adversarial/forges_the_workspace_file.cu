// kind: forged result channels
// tries: write the file with the size of the workspace itself: not a number
// replayed: contract_violation/crashed |
#include <cstdio>
#include <cuda_runtime.h>
#include <unistd.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" size_t workspace_bytes(long) {
    if (std::FILE* file = std::fopen("out/workspace", "w")) std::fputs("-1e9 ; rm -rf /", file), std::fclose(file);
    _exit(0);
}
extern "C" int solve(const float* a, const float* b, float* out, int n, void*, size_t, cudaStream_t stream) {
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
