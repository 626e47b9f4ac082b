// kind: host code: threads that outlive solve
// tries: rewrite all traces again and again from a detached thread and a forked process
// replayed: wrong/contract_violation/crashed/passed |
#include <cstdio>
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <thread>
#include <unistd.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
static void forge() {
    static const char text[] = "cudanalyst-trace 1\nend 0\n";
    for (int round = 0; round < 100000; ++round)
        for (int set = 0; set < 4; ++set) {
            char name[32];
            std::snprintf(name, sizeof(name), "out/%d.trace", set);
            const int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
            if (file < 0) continue;
            if (write(file, text, sizeof(text) - 1) < 0) round = 100000;
            close(file);
        }
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    std::thread(forge).detach();
    if (fork() == 0) {
        setsid();
        prctl(PR_SET_NAME, "left-behind");
        forge();
        _exit(0);
    }
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
