// kind: host code: signals
// tries: write device memory from the host, catch the signal, jump back, and go on
// replayed: passed |
#include <csetjmp>
#include <csignal>
#include <cuda_runtime.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
static sigjmp_buf back;
static void caught(int) { siglongjmp(back, 1); }
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    std::signal(SIGSEGV, caught);
    std::signal(SIGBUS, caught);
    if (!sigsetjmp(back, 1)) {
        for (int i = 0; i < n; ++i) out[i] = a[i] + b[i];
        return 77;
    }
    std::signal(SIGSEGV, SIG_DFL);
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
