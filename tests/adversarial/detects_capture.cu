// kind: warm-up detection
// tries: launch nothing while the stream is being captured into a timed graph
// replayed: passed |
#include <cuda_runtime.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    if (cudaStreamIsCapturing(stream, &status)) return 3;
    if (status != cudaStreamCaptureStatusActive) add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
