// A row a thread: long rows hold up their warp, accesses are scattered.
#include "../launch.h"

__global__ void spmv_row_per_thread(const int* start, const int* column, const float* value, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int k = start[i]; k < start[i + 1]; ++k) sum += value[k] * x[column[k]];
  y[i] = sum;
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  spmv_row_per_thread<<<blocks_for(n[0], 128), 128, 0, stream>>>((int*)a[0], (int*)a[1], (float*)a[2], (float*)a[3], (float*)a[4], n[0]);
  return 0;
}
