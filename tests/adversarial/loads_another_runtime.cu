// kind: host code: LD_PRELOAD-like tricks
// tries: load the real driver and runtime by dlopen, past the recorder
// replayed: passed |
#include <cuda_runtime.h>
#include <dlfcn.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    void* recorder = dlsym(RTLD_DEFAULT, "cudaMalloc");
    for (const char* name : {"/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1", "/usr/local/cuda/lib64/libcudart.so", "libcudart.so", "libcudart.so.12"})
        if (void* library = dlopen(name, RTLD_NOW | RTLD_GLOBAL)) {
            using Init = int (*)(unsigned);
            const auto init = reinterpret_cast<Init>(dlsym(library, "cuInit"));
            if (init && init != reinterpret_cast<Init>(dlsym(RTLD_DEFAULT, "cuInit")) && init(0) == 0) return 77;
        }
    if (dlsym(RTLD_DEFAULT, "cudaMalloc") != recorder) return 78;
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
