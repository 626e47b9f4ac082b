// A tile of 32 x 32 in shared memory, unpadded: reading a column meets one bank.
#include "../launch.h"

__global__ void transpose_conflicts(const float* x, float* y, int n) {
  __shared__ float tile[32][32];
  int i = threadIdx.x, from = blockIdx.x * 32, to = blockIdx.y * 32;
  for (int j = threadIdx.y; j < 32; j += 8) tile[j][i] = x[(to + j) * n + from + i];
  __syncthreads();
  for (int j = threadIdx.y; j < 32; j += 8) y[(from + j) * n + to + i] = tile[i][j];
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  dim3 block(32, 8), grid(n[0] / 32, n[0] / 32);
  transpose_conflicts<<<grid, block, 0, stream>>>((float*)a[0], (float*)a[1], n[0]);
  return 0;
}
