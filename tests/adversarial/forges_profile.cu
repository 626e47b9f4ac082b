// kind: forged result channels
// tries: adds a well-formed record to the report, and is honest otherwise
// replayed: passed |
// native: contract_violation | was not written by the engine
#include <cuda_runtime.h>
#include <cstdio>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}

extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    if (std::FILE* report = std::fopen("report.jsonl", "a")) {
        std::fputs("{\"type\":\"profile\",\"kernel\":\"add\",\"launches\":1,\"warp_instructions\":1}\n", report);
        std::fclose(report);
    }
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
