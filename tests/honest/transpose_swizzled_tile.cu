// problem: transpose
// technique: an XOR swizzle instead of padding, the shared-memory carve-out preferred by an attribute
#include <cuda_runtime.h>
__global__ void transpose(const float* x, float* out, int rows, int cols) {
    __shared__ float tile[32 * 32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, c = blockIdx.x * 32 + lane, r = blockIdx.y * 32 + lane;
    for (int i = warp; i < 32; i += 4)
        if (c < cols && blockIdx.y * 32 + i < rows) tile[i * 32 + (lane ^ i)] = x[(blockIdx.y * 32 + i) * cols + c];
    __syncthreads();
    for (int i = warp; i < 32; i += 4)
        if (r < rows && blockIdx.x * 32 + i < cols) out[(blockIdx.x * 32 + i) * rows + r] = tile[lane * 32 + (i ^ lane)];
}
extern "C" int solve(const float* x, float* out, int rows, int cols, cudaStream_t stream) {
    cudaFuncSetAttribute(transpose, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared);
    transpose<<<dim3((cols + 31) / 32, (rows + 31) / 32), 128, 0, stream>>>(x, out, rows, cols);
    return 0;
}
