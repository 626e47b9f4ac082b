// kind: host code: signals
// tries: ignores every signal that it can, and waits
// replayed: timed_out | did not end within
// limit_s: 2
#include <cuda_runtime.h>
#include <csignal>
#include <unistd.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}

extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    for (int number = 1; number < 65; ++number) std::signal(number, SIG_IGN);
    for (;;) pause();
}
