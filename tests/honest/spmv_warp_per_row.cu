// problem: spmv
// technique: a warp a row, read-only loads by __ldg
#include <cuda_runtime.h>
__global__ void spmv(const int* offsets, const int* columns, const float* values, const float* x, float* y, int rows) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float sum = 0;
    for (int j = offsets[row] + lane; j < offsets[row + 1]; j += 32) sum += __ldg(values + j) * __ldg(x + __ldg(columns + j));
    for (int d = 16; d; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    if (lane == 0) y[row] = sum;
}
extern "C" int solve(const int* offsets, const int* columns, const float* values, const float* x, float* y, int rows, cudaStream_t stream) {
    spmv<<<(rows + 3) / 4, 128, 0, stream>>>(offsets, columns, values, x, y, rows);
    return 0;
}
