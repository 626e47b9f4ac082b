// kind: host code: exhausting the machine
// tries: open files until none can be opened, and leave a thousand in its folder
// replayed: passed/crashed/contract_violation |
#include <cstdio>
#include <cuda_runtime.h>
#include <fcntl.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    char name[32];
    for (int i = 0; i < 1000; ++i) {
        std::snprintf(name, sizeof(name), "file%d", i);
        if (open(name, O_RDWR | O_CREAT, 0600) < 0) break;
    }
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
