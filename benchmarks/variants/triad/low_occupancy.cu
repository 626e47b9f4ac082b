// Shared memory that is not needed: one block a multiprocessor, 128 threads.
#include "../launch.h"

__global__ void triad_low_occupancy(const float* x, const float* y, float* z, int n) {
  __shared__ float unused[12000];
  if (n < 0) unused[threadIdx.x] = x[threadIdx.x], z[0] = unused[n & 63];
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) z[i] = x[i] + 3 * y[i];
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  triad_low_occupancy<<<132, 128, 0, stream>>>((float*)a[0], (float*)a[1], (float*)a[2], n[0]);
  return 0;
}
