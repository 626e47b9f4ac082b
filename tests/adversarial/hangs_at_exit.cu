// kind: host code: destructors
// tries: never lets its process end by itself
// replayed: passed |
#include <cuda_runtime.h>
#include <cstdlib>
#include <unistd.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
[[noreturn]] static void hang() {
    for (;;) pause();
}
__attribute__((destructor)) static void also_hang() { hang(); }

extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    static const int once = std::atexit(hang);
    if (once) return 38;
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
