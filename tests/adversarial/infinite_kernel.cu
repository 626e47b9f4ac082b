// kind: hang
// tries: a kernel without end
// replayed: timed_out | endless_loop at candidate.cu
// gpu: timed_out | did not end within
// because: a GPU does not say where a kernel is; debug does, on the engine
#include <cuda_runtime.h>

__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}

__global__ void forever(float* out) {
    volatile float* cell = out;
    while (cell[0] != 12345.0f) cell[0] = 1.0f;
}

extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    forever<<<1, 32, 0, stream>>>(out);
    return 0;
}
