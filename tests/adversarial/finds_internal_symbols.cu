// kind: host code: memory of the recorder
// tries: call the recorder's own functions by name
// replayed: passed |
#include <cuda_runtime.h>
#include <dlfcn.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    for (const char* name : {"_ZN10cudanalyst6record8recorderEv", "_ZN10cudanalyst6record16record_interfaceEv", "_ZN10cudanalyst6record6Writer5closeEiRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
                             "_ZN10cudanalyst7backendEv", "_ZN10cudanalyst6memory5writeEmPKvm", "cudanalyst_record", "cudanalyst_begin_call", "cudanalyst_end_call"})
        if (dlsym(RTLD_DEFAULT, name)) return 77;
    using Engine = const void* (*)();
    if (const auto engine = reinterpret_cast<Engine>(dlsym(RTLD_DEFAULT, "cudanalyst_engine")); engine && engine()) return 78;
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
