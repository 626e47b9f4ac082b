// kind: host code: LD_PRELOAD-like tricks
// tries: set LD_PRELOAD and CUDANALYST_* variables and start the runner again with them
// replayed: crashed/passed/contract_violation/wrong |
#include <cstdlib>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <unistd.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    if (!std::getenv("AGAIN")) {
        Dl_info about;
        dladdr(reinterpret_cast<void*>(&solve), &about);
        setenv("AGAIN", "1", 1);
        setenv("LD_PRELOAD", about.dli_fname, 1);
        setenv("CUDANALYST_MODE", "run", 1);
        setenv("CUDANALYST_REPORT", "report.jsonl", 1);
        char* const arguments[] = {const_cast<char*>("/proc/self/exe"), const_cast<char*>("request.txt"), nullptr};
        execv("/proc/self/exe", arguments);
    }
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
