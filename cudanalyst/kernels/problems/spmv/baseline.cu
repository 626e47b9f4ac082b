#include <cuda_runtime.h>

// One row per thread.
__global__ void spmv(const int* __restrict__ offsets, const int* __restrict__ columns,
                     const float* __restrict__ values, const float* __restrict__ x, float* __restrict__ y, int rows) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0.0f;
        for (int j = offsets[row]; j < offsets[row + 1]; ++j) {
            sum += values[j] * x[columns[j]];
        }
        y[row] = sum;
    }
}

extern "C" int solve(const int* offsets, const int* columns, const float* values, const float* x, float* y, int rows,
                     cudaStream_t stream) {
    spmv<<<(rows + 127) / 128, 128, 0, stream>>>(offsets, columns, values, x, y, rows);
    return 0;
}
