// kind: forged result channels
// tries: forge a trace that the parent takes and the executor refuses, so that the machine gets the blame
// replayed: contract_violation | the priority '500'
#include <cstdio>
#include <cuda_runtime.h>
#include <unistd.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    for (int set = 0; set < 16; ++set) {
        char name[32];
        std::snprintf(name, sizeof(name), "out/%d.trace", set);
        if (std::FILE* file = std::fopen(name, "w")) {
            std::fputs("cudanalyst-trace 1\nstream 1 500\nend 0\n", file);
            std::fclose(file);
        }
    }
    _exit(0);
}
