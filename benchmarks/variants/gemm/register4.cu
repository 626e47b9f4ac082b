// 64 x 64 outputs a block of 256 threads, 4 x 4 a thread in registers.
#include "../launch.h"

constexpr int tile = 64, depth = 16;

__global__ void gemm_register4(const float* a, const float* b, float* c, int n) {
  __shared__ float as[depth][tile], bs[depth][tile];
  int t = threadIdx.x, x = t % 16, y = t / 16, row = blockIdx.y * tile, col = blockIdx.x * tile;
  float sum[4][4] = {};
  for (int k0 = 0; k0 < n; k0 += depth) {
    for (int i = t; i < tile * depth; i += 256) {
      as[i % depth][i / depth] = a[(row + i / depth) * n + k0 + i % depth];
      bs[i / tile][i % tile] = b[(k0 + i / tile) * n + col + i % tile];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < depth; ++k) {
      float p[4], q[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) p[i] = as[k][y * 4 + i], q[i] = bs[k][x + 16 * i];
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) sum[i][j] += p[i] * q[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) c[(row + y * 4 + i) * n + col + x + 16 * j] = sum[i][j];
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  dim3 grid(n[0] / tile, n[0] / tile);
  gemm_register4<<<grid, 256, 0, stream>>>((float*)a[0], (float*)a[1], (float*)a[2], n[0]);
  return 0;
}
