// Four loads of each array at once in a loop over the grid.
#include "../launch.h"

__global__ void triad_unrolled(const float* x, const float* y, float* z, int n) {
  int step = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  for (; i + 3 * step < n; i += 4 * step) {
    float u[4], v[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) u[k] = x[i + k * step], v[k] = y[i + k * step];
#pragma unroll
    for (int k = 0; k < 4; ++k) z[i + k * step] = u[k] + 3 * v[k];
  }
  for (; i < n; i += step) z[i] = x[i] + 3 * y[i];
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  triad_unrolled<<<264, 256, 0, stream>>>((float*)a[0], (float*)a[1], (float*)a[2], n[0]);
  return 0;
}
