// kind: reading or changing the harness's files
// tries: make its folder unreadable and fill it with what cannot be removed easily
// replayed: passed/crashed/contract_violation |
#include <cstdio>
#include <cuda_runtime.h>
#include <sys/stat.h>
#include <unistd.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    mkdir("deep", 0700);
    char name[64];
    for (int i = 0; i < 200; ++i) {
        std::snprintf(name, sizeof(name), "deep/%d", i);
        mkdir(name, 0000);
    }
    chmod("deep", 0000);
    chmod(".", 0000);
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
