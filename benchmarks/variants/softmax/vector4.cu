// A row a warp in registers, 16 bytes at once.
#include "../launch.h"

__global__ void softmax_vector4(const float* x, float* y, int m, int k) {
  int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  const float* from = x + (long)row * k;
  float* to = y + (long)row * k;
  float4 v[32];
  float most = -1e30f, sum = 0;
#pragma unroll
  for (int q = 0; q < 32; ++q) {
    if (q * 128 >= k) break;
    v[q] = ((const float4*)from)[q * 32 + lane];
    most = fmaxf(fmaxf(most, fmaxf(v[q].x, v[q].y)), fmaxf(v[q].z, v[q].w));
  }
  for (int d = 16; d; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
#pragma unroll
  for (int q = 0; q < 32; ++q) {
    if (q * 128 >= k) break;
    v[q] = make_float4(__expf(v[q].x - most), __expf(v[q].y - most), __expf(v[q].z - most), __expf(v[q].w - most));
    sum += (v[q].x + v[q].y) + (v[q].z + v[q].w);
  }
  for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  float scale = 1 / sum;
#pragma unroll
  for (int q = 0; q < 32; ++q) {
    if (q * 128 >= k) break;
    ((float4*)to)[q * 32 + lane] = make_float4(v[q].x * scale, v[q].y * scale, v[q].z * scale, v[q].w * scale);
  }
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  softmax_vector4<<<n[0] / 4, 128, 0, stream>>>((float*)a[0], (float*)a[1], n[0], n[1]);
  return 0;
}
