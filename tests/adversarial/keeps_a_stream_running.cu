// kind: work left pending
// tries: start work in the first call on a stream kept in a static, to be collected in later calls
// replayed: contract_violation | own stream
#include <cuda_runtime.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
static cudaStream_t own;
static cudaEvent_t ready;
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    if (!own) {
        cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);
        add<<<(n + 255) / 256, 256, 0, own>>>(a, b, out, n);
        cudaEventRecord(ready, own);
        return 0;
    }
    cudaStreamWaitEvent(stream, ready, 0);
    return 0;
}
