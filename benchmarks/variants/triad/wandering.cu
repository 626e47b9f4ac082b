// Indices from divisions and remainders of 64 bits.
#include "../launch.h"

__global__ void triad_wandering(const float* x, const float* y, float* z, int n) {
  long t = blockIdx.x * (long)blockDim.x + threadIdx.x, side = n / 999, i = t;
  for (int k = 0; k < 4; ++k) i = (i / side) * side + i % side;
  z[i] = x[i] + 3 * y[i];
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  triad_wandering<<<n[0] / 256, 256, 0, stream>>>((float*)a[0], (float*)a[1], (float*)a[2], n[0]);
  return 0;
}
