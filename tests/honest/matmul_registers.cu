// problem: matmul
// technique: 4 x 4 results per thread in registers, tiles of 64 x 64 x 8
#include <cuda_runtime.h>
__global__ __launch_bounds__(256) void matmul(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int n, int k) {
    __shared__ float ta[8][64], tb[8][64];
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16, row0 = blockIdx.y * 64, col0 = blockIdx.x * 64;
    float sum[4][4] = {};
    for (int k0 = 0; k0 < k; k0 += 8) {
        for (int i = threadIdx.x; i < 512; i += 256) {
            const int r = row0 + i / 8, kk = k0 + i % 8, cc = col0 + i % 64, kb = k0 + i / 64;
            ta[i % 8][i / 8] = r < m && kk < k ? a[r * k + kk] : 0;
            tb[i / 64][i % 64] = cc < n && kb < k ? b[kb * n + cc] : 0;
        }
        __syncthreads();
#pragma unroll
        for (int kk = 0; kk < 8; ++kk)
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) sum[i][j] += ta[kk][ty * 4 + i] * tb[kk][tx + 16 * j];
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) {
            const int row = row0 + ty * 4 + i, col = col0 + tx + 16 * j;
            if (row < m && col < n) c[row * n + col] = sum[i][j];
        }
}
extern "C" int solve(const float* a, const float* b, float* c, int m, int n, int k, cudaStream_t stream) {
    matmul<<<dim3((n + 63) / 64, (m + 63) / 64), 256, 0, stream>>>(a, b, c, m, n, k);
    return 0;
}
