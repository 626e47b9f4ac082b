#include <cuda_runtime.h>

constexpr int TILE = 32;

__global__ void transpose(const float* __restrict__ x, float* __restrict__ out, int rows, int cols) {
    __shared__ float tile[TILE][TILE + 1];
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int first_col = blockIdx.x * TILE;
    const int first_row = blockIdx.y * TILE;
    for (int i = ty; i < TILE; i += 8) {
        if (first_row + i < rows && first_col + tx < cols) {
            tile[i][tx] = x[(first_row + i) * cols + first_col + tx];
        }
    }
    for (int i = ty; i < TILE; i += 8) {
        const int col = first_col + i;
        const int row = first_row + tx;
        if (row < rows && col < cols) {
            out[col * rows + row] = tile[tx][i];
        }
    }
}

extern "C" int solve(const float* x, float* out, int rows, int cols, cudaStream_t stream) {
    const dim3 threads(TILE, 8);
    const dim3 blocks((cols + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    transpose<<<blocks, threads, 0, stream>>>(x, out, rows, cols);
    return 0;
}
