// kind: host code: ptrace
// tries: attach to the process that started it, and let itself be traced
// replayed: passed |
#include <cuda_runtime.h>
#include <sys/ptrace.h>
#include <unistd.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    if (!ptrace(PTRACE_ATTACH, getppid(), nullptr, nullptr) || !ptrace(PTRACE_SEIZE, 1, nullptr, nullptr) || !ptrace(PTRACE_TRACEME, 0, nullptr, nullptr)) return 77;
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
