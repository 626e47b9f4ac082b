// kind: printing the harness's words
// tries: floods its output
// replayed: contract_violation | printing
#include <cuda_runtime.h>
#include <cstdio>
#include <cstring>

__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}

extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    static char line[1 << 16];
    std::memset(line, 'x', sizeof(line));
    for (int i = 0; i < 1600; ++i) std::fwrite(line, 1, sizeof(line), stdout);
    std::fflush(stdout);
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
