// A row a warp: short rows leave most lanes idle.
#include "../launch.h"

__global__ void spmv_row_per_warp(const int* start, const int* column, const float* value, const float* x, float* y, int n) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  float sum = 0;
  for (int k = start[i] + lane; k < start[i + 1]; k += 32) sum += value[k] * x[column[k]];
  for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (lane == 0) y[i] = sum;
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  spmv_row_per_warp<<<n[0] / 8, 256, 0, stream>>>((int*)a[0], (int*)a[1], (float*)a[2], (float*)a[3], (float*)a[4], n[0]);
  return 0;
}
