// kind: host code: signals
// tries: let a timer's signal handler write the trace while the recorder is at it
// replayed: passed/wrong/contract_violation/crashed/timed_out |
#include <csignal>
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/time.h>
#include <unistd.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
static void ring(int) {
    static const char text[] = "cudanalyst-trace 1\nend 0\n";
    for (const char* name : {"out/0.trace", "out/1.trace", "out/2.trace", "out/3.trace"}) {
        const int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (file >= 0 && write(file, text, sizeof(text) - 1) > 0) close(file);
    }
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    std::signal(SIGALRM, ring);
    itimerval soon{{0, 20000}, {0, 200}};  // again after 20 ms, for the first time after 0.2 ms
    setitimer(ITIMER_REAL, &soon, nullptr);
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
