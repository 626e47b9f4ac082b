#include <cuda_runtime.h>

constexpr int THREADS = 128;
constexpr int ROWS = THREADS / 32;

// One row per warp.
__global__ void spmv(const int* __restrict__ offsets, const int* __restrict__ columns,
                     const float* __restrict__ values, const float* __restrict__ x, float* __restrict__ y, int rows) {
    const int row = blockIdx.x * ROWS + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (row >= rows) {
        return;
    }
    float sum = 0.0f;
    for (int j = offsets[row] + lane; j < offsets[row + 1]; j += 32) {
        sum += values[j] * x[columns[j];
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    }
    if (lane == 0) {
        y[row] = sum;
    }
}

extern "C" int solve(const int* offsets, const int* columns, const float* values, const float* x, float* y, int rows,
                     cudaStream_t stream) {
    spmv<<<(rows + ROWS - 1) / ROWS, THREADS, 0, stream>>>(offsets, columns, values, x, y, rows);
    return 0;
}
