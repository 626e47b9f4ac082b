// kind: host code: exhausting the machine
// tries: leave traces of 4 MiB that take long to read: of empty lines, with one byte at the end that is no text
// replayed: contract_violation | not printable ASCII
#include <cstdio>
#include <cuda_runtime.h>
#include <string>
#include <unistd.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    const std::string text = std::string((4 << 20) - 1, '\n') + '\xff';
    for (int set = 0; set < 16; ++set) {
        char name[32];
        std::snprintf(name, sizeof(name), "out/%d.trace", set);
        if (std::FILE* file = std::fopen(name, "w")) {
            std::fwrite(text.data(), 1, text.size(), file);
            std::fclose(file);
        }
    }
    _exit(0);
}
