// problem: vector_add
// technique: exported helpers whose names end like `init` and `workspace_bytes`
#include <cuda_runtime.h>

static float* zeros = nullptr;

__global__ void clear(float* values) { values[threadIdx.x] = 0.0f; }

__global__ void keep(const float* a, float* kept, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) kept[i] = a[i];
}

__global__ void add(const float* kept, const float* b, const float* zeros, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = kept[i] + b[i] + zeros[threadIdx.x];
}

extern "C" int device_init() {
    if (cudaMalloc(&zeros, 256 * sizeof(float))) return 1;
    clear<<<1, 256>>>(zeros);
    return 0;
}

extern "C" int init(int n) { return device_init(); }

extern "C" size_t get_workspace_bytes(int n) { return sizeof(float) * n; }

extern "C" size_t workspace_bytes(int n) { return get_workspace_bytes(n); }

extern "C" int solve(const float* a, const float* b, float* out, int n, void* workspace, size_t bytes, cudaStream_t stream) {
    auto* kept = static_cast<float*>(workspace);
    keep<<<(n + 255) / 256, 256, 0, stream>>>(a, kept, n);
    add<<<(n + 255) / 256, 256, 0, stream>>>(kept, b, zeros, out, n);
    return 0;
}
