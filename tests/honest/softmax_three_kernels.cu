// problem: softmax
// technique: three kernels: row maxima, row sums, division, with both in the workspace; an int-encoded atomic maximum
#include <cuda_runtime.h>
__device__ int key(float f) { const int i = __float_as_int(f); return i >= 0 ? i : i ^ 0x7fffffff; }
__device__ float value(int k) { return __int_as_float(k >= 0 ? k : k ^ 0x7fffffff); }
__global__ void maxima(const float* x, int* largest, int cols, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) atomicMax(&largest[i / cols], key(x[i]));
}
__global__ void sums(const float* x, const int* largest, float* sum, int cols, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) atomicAdd(&sum[i / cols], expf(x[i] - value(largest[i / cols])));
}
__global__ void divide(const float* x, const int* largest, const float* sum, float* out, int cols, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = expf(x[i] - value(largest[i / cols])) / sum[i / cols];
}
extern "C" size_t workspace_bytes(long rows, long) { return 8 * rows; }
extern "C" int solve(const float* x, float* out, int rows, int cols, void* workspace, size_t, cudaStream_t stream) {
    int* largest = static_cast<int*>(workspace);
    float* sum = reinterpret_cast<float*>(largest + rows);
    const int count = rows * cols, blocks = (count + 127) / 128;
    cudaMemsetAsync(largest, 0x80, 4 * rows, stream);
    cudaMemsetAsync(sum, 0, 4 * rows, stream);
    maxima<<<blocks, 128, 0, stream>>>(x, largest, cols, count);
    sums<<<blocks, 128, 0, stream>>>(x, largest, sum, cols, count);
    divide<<<blocks, 128, 0, stream>>>(x, largest, sum, out, cols, count);
    return 0;
}
