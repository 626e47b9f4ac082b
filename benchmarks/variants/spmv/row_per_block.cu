// A row a block of 64 threads, a tree in shared memory.
#include "../launch.h"

__global__ void spmv_row_per_block(const int* start, const int* column, const float* value, const float* x, float* y, int n) {
  __shared__ float part[64];
  int i = blockIdx.x, t = threadIdx.x;
  float sum = 0;
  for (int k = start[i] + t; k < start[i + 1]; k += 64) sum += value[k] * x[column[k]];
  part[t] = sum;
  __syncthreads();
  for (int d = 32; d; d /= 2) {
    if (t < d) part[t] += part[t + d];
    __syncthreads();
  }
  if (t == 0) y[i] = part[0];
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  spmv_row_per_block<<<n[0], 64, 0, stream>>>((int*)a[0], (int*)a[1], (float*)a[2], (float*)a[3], (float*)a[4], n[0]);
  return 0;
}
