// An element a thread, added to its row by an atomic.
#include "../launch.h"

__global__ void spmv_atomics_zero(float* y) { y[blockIdx.x * blockDim.x + threadIdx.x] = 0; }

__global__ void spmv_atomics(const int* start, const int* column, const float* value, const float* x, float* y, const int* row, int n) {
  int total = start[n];
  for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < total; k += gridDim.x * blockDim.x) atomicAdd(&y[row[k]], value[k] * x[column[k]]);
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  spmv_atomics_zero<<<n[0] / 256, 256, 0, stream>>>((float*)a[4]);
  spmv_atomics<<<1056, 256, 0, stream>>>((int*)a[0], (int*)a[1], (float*)a[2], (float*)a[3], (float*)a[4], (int*)a[5], n[0]);
  return 0;
}
