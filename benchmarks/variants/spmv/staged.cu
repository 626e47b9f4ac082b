// A block takes 256 rows: products go to shared memory side by side, then a row a thread.
#include "../launch.h"

__global__ void spmv_staged(const int* start, const int* column, const float* value, const float* x, float* y, int n) {
  __shared__ float product[2048];
  int first = blockIdx.x * 256, i = first + threadIdx.x, from = start[first], to = start[first + 256];
  int mine = start[i], end = start[i + 1];
  float sum = 0;
  for (int base = from; base < to; base += 2048) {
    for (int k = base + threadIdx.x; k < min(base + 2048, to); k += 256) product[k - base] = value[k] * x[column[k]];
    __syncthreads();
    for (int k = max(mine, base); k < min(end, base + 2048); ++k) sum += product[k - base];
    __syncthreads();
  }
  y[i] = sum;
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  spmv_staged<<<n[0] / 256, 256, 0, stream>>>((int*)a[0], (int*)a[1], (float*)a[2], (float*)a[3], (float*)a[4], n[0]);
  return 0;
}
