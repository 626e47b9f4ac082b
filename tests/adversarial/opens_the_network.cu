// kind: host code: the sandbox
// tries: reach the network, other namespaces and kernel interfaces
// replayed: passed |
#include <cuda_runtime.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0) return 77;
    if (!unshare(CLONE_NEWUSER) || !mount("none", "/tmp", "tmpfs", 0, nullptr) || !chroot(".") || !setuid(1)) return 78;
    if (syscall(SYS_bpf, 0, nullptr, 0) >= 0 || syscall(SYS_userfaultfd, 0) >= 0 || syscall(425, 1, nullptr) >= 0) return 79;
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
