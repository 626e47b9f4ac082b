// problem: transpose
// technique: a padded tile in shared memory
#include <cuda_runtime.h>
__global__ void transpose(const float* x, float* out, int rows, int cols) {
    __shared__ float tile[32][33];
    const int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.x;
    for (int i = threadIdx.y; i < 32; i += 8)
        if (c < cols && blockIdx.y * 32 + i < rows) tile[i][threadIdx.x] = x[(blockIdx.y * 32 + i) * cols + c];
    __syncthreads();
    for (int i = threadIdx.y; i < 32; i += 8)
        if (r < rows && blockIdx.x * 32 + i < cols) out[(blockIdx.x * 32 + i) * rows + r] = tile[threadIdx.x][i];
}
extern "C" int solve(const float* x, float* out, int rows, int cols, cudaStream_t stream) {
    transpose<<<dim3((cols + 31) / 32, (rows + 31) / 32), dim3(32, 8), 0, stream>>>(x, out, rows, cols);
    return 0;
}
