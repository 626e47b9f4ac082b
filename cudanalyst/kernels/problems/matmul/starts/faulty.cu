#include <cuda_runtime.h>

constexpr int TILE = 16;

__global__ void matmul(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int n,
                       int k) {
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty;
    const int col = blockIdx.x * TILE + tx;
    float sum = 0.0f;
    for (int t = 0; t < k; t += TILE) {
        tile_a[ty][tx] = row < m && t + tx < k ? a[row * k + t + tx] : 0.0f;
        tile_b[ty][tx] = t + ty < k && col < n ? b[(t + ty) * n + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; ++i) {
            sum += tile_a[ty][i] * tile_b[i][tx];
        }
    }
    if (row < m && col < n) {
        c[row * n + col] = sum;
    }
}

extern "C" int solve(const float* a, const float* b, float* c, int m, int n, int k, cudaStream_t stream) {
    const dim3 threads(TILE, TILE);
    const dim3 blocks((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
    matmul<<<blocks, threads, 0, stream>>>(a, b, c, m, n, k);
    return 0;
}
