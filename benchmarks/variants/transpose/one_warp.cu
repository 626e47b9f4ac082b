// A tile of 32 x 32 by one warp a block, without a barrier of the block.
#include "../launch.h"

__global__ void transpose_one_warp(const float* x, float* y, int n) {
  __shared__ float tile[32][33];
  int i = threadIdx.x, from = blockIdx.x * 32, to = blockIdx.y * 32;
#pragma unroll 1
  for (int j = 0; j < 32; ++j) tile[j][i] = x[(to + j) * n + from + i];
  __syncwarp();
#pragma unroll 1
  for (int j = 0; j < 32; ++j) y[(from + j) * n + to + i] = tile[i][j];
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  dim3 block(32), grid(n[0] / 32, n[0] / 32);
  transpose_one_warp<<<grid, block, 0, stream>>>((float*)a[0], (float*)a[1], n[0]);
  return 0;
}
