// problem: vector_add
// technique: two own streams kept in statics, forked from the given stream by an event and joined again
#include <cuda_runtime.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    static cudaStream_t own[2];
    static cudaEvent_t fork, join[2];
    static const bool made = [] {
        bool good = !cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
        for (int i = 0; i < 2; ++i)
            good = good && !cudaStreamCreateWithFlags(&own[i], cudaStreamNonBlocking) && !cudaEventCreateWithFlags(&join[i], cudaEventDisableTiming);
        return good;
    }();
    if (!made) return 1;
    const int half = n / 2;
    cudaEventRecord(fork, stream);
    for (int i = 0; i < 2; ++i) {
        const int first = i * half, count = i ? n - half : half;
        cudaStreamWaitEvent(own[i], fork, 0);
        if (count) add<<<(count + 255) / 256, 256, 0, own[i]>>>(a + first, b + first, out + first, count);
        cudaEventRecord(join[i], own[i]);
        cudaStreamWaitEvent(stream, join[i], 0);
    }
    return 0;
}
