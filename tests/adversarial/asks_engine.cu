// kind: host code: memory of the recorder
// tries: asks the engine for what only the runner may do
// replayed: passed |
#include <cuda_runtime.h>
#include <dlfcn.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}

extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    using Engine = const void* (*)();
    const auto engine = reinterpret_cast<Engine>(dlsym(RTLD_DEFAULT, "cudanalyst_engine"));
    if (engine && engine()) return 35;
    for (const char* name : {"cudanalyst_begin_call", "cudanalyst_end_call", "cudanalyst_report_call", "cudanalyst_finish",
                             "_ZN10cudanalyst6memory5writeEmPKvm"})
        if (dlsym(RTLD_DEFAULT, name)) return 36;
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
