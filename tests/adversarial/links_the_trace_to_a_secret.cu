// kind: forged result channels
// tries: put a link to a file of the harness where the trace should be, so that its content is quoted
// replayed: crashed | before `solve` returned
#include <cuda_runtime.h>
#include <unistd.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    for (const char* name : {"out/0.trace", "out/1.trace", "out/2.trace", "out/3.trace", "out/4.trace"}) {
        unlink(name);
        if (symlink("@DECOY@", name)) _exit(0);
    }
    _exit(0);
}
