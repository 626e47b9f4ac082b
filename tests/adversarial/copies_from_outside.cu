// kind: forged result channels
// tries: forge a trace that copies from memory that was not given, where a reference might lie
// replayed: contract_violation | memory that is not given
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
            std::fprintf(file, "cudanalyst-trace 1\ncopy %llx %llx %d 1 0 0 0\nend 0\n", reinterpret_cast<unsigned long long>(out),
                         reinterpret_cast<unsigned long long>(out) - (4 << 20), 4 * n);
            std::fclose(file);
        }
    }
    _exit(0);
}
