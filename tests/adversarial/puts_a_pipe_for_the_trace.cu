// kind: forged result channels
// tries: put pipes and folders where traces should be, on which a reader would hang or stumble
// replayed: crashed | before `solve` returned
#include <cuda_runtime.h>
#include <sys/stat.h>
#include <unistd.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    mkfifo("out/0.trace", 0600);
    mkfifo("out/1.trace", 0600);
    mkdir("out/2.trace", 0700);
    mkdir("out/3.trace", 0700);
    _exit(0);
}
