// kind: forged result channels
// tries: leave a trace of 64 MB
// replayed: contract_violation | trace
#include <cstdio>
#include <cuda_runtime.h>
#include <unistd.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    if (std::FILE* file = std::fopen("out/0.trace", "w")) {
        std::fputs("cudanalyst-trace 1\n", file);
        for (int i = 0; i < (1 << 20); ++i) std::fputs("query cudaGetDevice again and again and again and again 0 = 0\n", file);
        std::fclose(file);
    }
    _exit(0);
}
