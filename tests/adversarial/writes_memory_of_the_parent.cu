// kind: host code: /proc/PID/mem
// tries: write the memory of the process that started it, and of its siblings
// replayed: passed |
#include <cstdio>
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    for (int process : {static_cast<int>(getppid()), 1, 2, static_cast<int>(getpid()) + 1, static_cast<int>(getpid()) - 1}) {
        char name[64], byte = 0;
        std::snprintf(name, sizeof(name), "/proc/%d/mem", process);
        if (open(name, O_RDWR) >= 0) return 77;
        iovec here{&byte, 1}, there{reinterpret_cast<void*>(&solve), 1};
        if (process != getpid() && process > 0 && process_vm_writev(process, &here, 1, &there, 1, 0) > 0) return 78;
    }
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
