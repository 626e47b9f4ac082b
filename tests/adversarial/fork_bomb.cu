// kind: host code: exhausting the machine
// tries: fork until nothing is left
// replayed: passed/crashed/timed_out/contract_violation |
#include <csignal>
#include <cuda_runtime.h>
#include <sys/prctl.h>
#include <unistd.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    for (int i = 0; i < 4096; ++i) {
        const pid_t child = fork();
        if (child < 0) break;
        if (child == 0) {
            prctl(PR_SET_NAME, "left-behind");
            for (;;) pause();
        }
    }
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
