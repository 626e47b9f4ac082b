// A row for 4 lanes.
#include "../launch.h"

__global__ void spmv_row_per_4(const int* start, const int* column, const float* value, const float* x, float* y, int n) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) / 4, lane = threadIdx.x % 4;
  float sum = 0;
  for (int k = start[i] + lane; k < start[i + 1]; k += 4) sum += value[k] * x[column[k]];
  for (int d = 2; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (lane == 0) y[i] = sum;
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  spmv_row_per_4<<<n[0] / 64, 256, 0, stream>>>((int*)a[0], (int*)a[1], (float*)a[2], (float*)a[3], (float*)a[4], n[0]);
  return 0;
}
