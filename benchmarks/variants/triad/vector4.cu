// Four elements a thread, 16 bytes at once.
#include "../launch.h"

__global__ void triad_vector4(const float* x, const float* y, float* z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n / 4) return;
  float4 u = ((const float4*)x)[i], v = ((const float4*)y)[i];
  ((float4*)z)[i] = make_float4(u.x + 3 * v.x, u.y + 3 * v.y, u.z + 3 * v.z, u.w + 3 * v.w);
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  triad_vector4<<<blocks_for(n[0], 1024), 256, 0, stream>>>((float*)a[0], (float*)a[1], (float*)a[2], n[0]);
  return 0;
}
