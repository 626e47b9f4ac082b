// 64 rows a block of 64 threads, tiles through shared memory without padding.
#include "../launch.h"

__global__ void matvec_shared_tile(const float* a, const float* x, float* y, int n) {
  __shared__ float tile[64][64];
  int t = threadIdx.x, row = blockIdx.x * 64;
  float sum = 0;
  for (int j = 0; j < n; j += 64) {
#pragma unroll 8
    for (int r = 0; r < 64; ++r) tile[r][t] = a[(long)(row + r) * n + j + t];
    __syncthreads();
#pragma unroll 8
    for (int k = 0; k < 64; ++k) sum += tile[t][k] * x[j + k];
    __syncthreads();
  }
  y[row + t] = sum;
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  matvec_shared_tile<<<n[0] / 64, 64, 0, stream>>>((float*)a[0], (float*)a[1], (float*)a[2], n[0]);
  return 0;
}
