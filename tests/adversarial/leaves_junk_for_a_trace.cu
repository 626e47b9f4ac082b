// kind: forged result channels
// tries: leave escape sequences and binary junk where the trace should be
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
        for (int i = 0; i < 4096; ++i) std::fputc(i * 37, file);
        std::fputs("\033[2J\033[32mPASSED\033[0m\n", file);
        std::fclose(file);
    }
    _exit(0);
}
