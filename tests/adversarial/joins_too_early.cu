// kind: work on other streams
// tries: join the own stream before its last kernel, which does the work
// replayed: contract_violation | not joined
#include <cuda_runtime.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
__global__ void nothing() {}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    cudaStream_t own;
    cudaEvent_t fork, join;
    cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
    cudaEventRecord(fork, stream);
    cudaStreamWaitEvent(own, fork, 0);
    nothing<<<1, 1, 0, own>>>();
    cudaEventRecord(join, own);
    add<<<(n + 255) / 256, 256, 0, own>>>(a, b, out, n);
    cudaStreamWaitEvent(stream, join, 0);
    return 0;
}
