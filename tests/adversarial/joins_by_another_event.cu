// kind: work on other streams
// tries: wait for an event that was never recorded, which is no join
// replayed: contract_violation | not joined
#include <cuda_runtime.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    cudaStream_t own;
    cudaEvent_t fork, other;
    cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&other, cudaEventDisableTiming);
    cudaEventRecord(fork, stream);
    cudaStreamWaitEvent(own, fork, 0);
    add<<<(n + 255) / 256, 256, 0, own>>>(a, b, out, n);
    cudaStreamWaitEvent(stream, other, 0);
    return 0;
}
