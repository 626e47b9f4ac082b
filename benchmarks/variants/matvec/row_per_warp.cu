// A row a warp, one element a lane.
#include "../launch.h"

__global__ void matvec_row_per_warp(const float* a, const float* x, float* y, int n) {
  int i = blockIdx.x * 8 + threadIdx.x / 32;
  float sum = 0;
#pragma unroll 1
  for (int j = threadIdx.x % 32; j < n; j += 32) sum += a[(long)i * n + j] * x[j];
  for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) y[i] = sum;
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  matvec_row_per_warp<<<n[0] / 8, 256, 0, stream>>>((float*)a[0], (float*)a[1], (float*)a[2], n[0]);
  return 0;
}
