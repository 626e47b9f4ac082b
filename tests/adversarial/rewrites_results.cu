// kind: forged result channels
// tries: overwrites the results of the first call while a later one is made
// replayed: passed |
// native: contract_violation | result `out` of call 1 was not written by the engine
#include <cuda_runtime.h>
#include <cstdio>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}

extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    if (std::FILE* results = std::fopen("out/out.0.bin", "r+b")) {
        const float other = 1;
        std::fseek(results, 4096, SEEK_SET);
        std::fwrite(&other, sizeof other, 1, results);
        std::fclose(results);
    }
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
