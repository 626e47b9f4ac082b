// kind: host code: threads that outlive solve
// tries: leaves a process behind that goes on after the evaluation
// replayed: passed/crashed/timed_out/contract_violation |
#include <cuda_runtime.h>
#include <sys/prctl.h>
#include <unistd.h>

__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}

extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    if (fork() == 0) {
        setsid();
        prctl(PR_SET_NAME, "left-behind");
        for (;;) sleep(1000);
    }
    return 0;
}
