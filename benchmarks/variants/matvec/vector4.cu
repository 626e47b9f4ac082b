// A row a warp, 16 bytes a lane, four at once.
#include "../launch.h"

__global__ void matvec_vector4(const float* a, const float* x, float* y, int n) {
  int i = blockIdx.x * 8 + threadIdx.x / 32;
  const float4 *r = (const float4*)(a + (long)i * n), *v = (const float4*)x;
  float sum = 0;
#pragma unroll 4
  for (int j = threadIdx.x % 32; j < n / 4; j += 32) {
    float4 p = r[j], q = v[j];
    sum += (p.x * q.x + p.y * q.y) + (p.z * q.z + p.w * q.w);
  }
  for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) y[i] = sum;
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  matvec_vector4<<<n[0] / 8, 256, 0, stream>>>((float*)a[0], (float*)a[1], (float*)a[2], n[0]);
  return 0;
}
