// Half the lanes do two elements, one after the other: divergence.
#include "../launch.h"

__global__ void triad_halves(const float* x, const float* y, float* z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i & 1) {
    z[i] = x[i] + 3 * y[i];
    __syncwarp(0xaaaaaaaa);
  } else {
    float v = y[i];
    for (int k = 0; k < 16; ++k) v = fmaf(v, 1.0f, 0.0f) * (k & 1 ? 2.0f : 0.5f);
    z[i] = x[i] + 3 * v;
  }
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  triad_halves<<<n[0] / 256, 256, 0, stream>>>((float*)a[0], (float*)a[1], (float*)a[2], n[0]);
  return 0;
}
