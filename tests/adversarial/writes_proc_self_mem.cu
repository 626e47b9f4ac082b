// kind: host code: /proc/PID/mem
// tries: write device buffers, which the host cannot reach, through /proc/self/mem
// replayed: passed |
#include <cuda_runtime.h>
#include <fcntl.h>
#include <unistd.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    const int memory = open("/proc/self/mem", O_RDWR);
    const float zero = 0;
    if (memory >= 0 && pwrite(memory, &zero, sizeof(zero), reinterpret_cast<off_t>(out)) > 0) return 77;
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
