// The 4 x 4 scheme with an accumulator that is indexed by variables: it lives in local memory.
#include "../launch.h"

constexpr int tile = 64, depth = 16;

__global__ void gemm_rolled(const float* a, const float* b, float* c, int n, int side) {
  __shared__ float as[depth][tile], bs[depth][tile];
  int t = threadIdx.x, x = t % 16, y = t / 16, row = blockIdx.y * tile, col = blockIdx.x * tile;
  float sum[16];
  for (int i = 0; i < side * side; ++i) sum[i] = 0;
  for (int k0 = 0; k0 < n; k0 += depth) {
    for (int i = t; i < tile * depth; i += 256) {
      as[i % depth][i / depth] = a[(row + i / depth) * n + k0 + i % depth];
      bs[i / tile][i % tile] = b[(k0 + i / tile) * n + col + i % tile];
    }
    __syncthreads();
    for (int k = 0; k < depth; ++k)
#pragma unroll 1
      for (int i = 0; i < side; ++i)
#pragma unroll 1
        for (int j = 0; j < side; ++j) sum[i * side + j] += as[k][y * 4 + i] * bs[k][x + 16 * j];
    __syncthreads();
  }
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < side; ++j) c[(row + y * 4 + i) * n + col + x + 16 * j] = sum[i * side + j];
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  dim3 grid(n[0] / tile, n[0] / tile);
  gemm_rolled<<<grid, 256, 0, stream>>>((float*)a[0], (float*)a[1], (float*)a[2], n[0], 4);
  return 0;
}
