// kind: host code: exhausting the machine
// tries: write a file without end
// replayed: crashed/passed/contract_violation |
#include <cuda_runtime.h>
#include <fcntl.h>
#include <unistd.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    const int file = open("large", O_RDWR | O_CREAT, 0600);
    for (off_t at = 0; at < (1ll << 40); at += 1ll << 28)
        if (pwrite(file, "x", 1, at) < 0) break;
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
