// A row a warp, kept in registers, 16 bytes at once.
#include "../launch.h"

__global__ void layernorm_vector4(const float* x, const float* gain, const float* bias, float* y, int k) {
  long row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  int lane = threadIdx.x % 32;
  const float* from = x + row * k;
  float* to = y + row * k;
  const float4 *v = (const float4*)from, *g = (const float4*)gain, *b = (const float4*)bias;
  float4 e[16];
  float sum = 0, squares = 0;
#pragma unroll
  for (int q = 0; q < 16; ++q) {
    if (q * 128 >= k) break;
    e[q] = v[q * 32 + lane];
    sum += (e[q].x + e[q].y) + (e[q].z + e[q].w);
  }
  for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  float mean = sum / k;
#pragma unroll
  for (int q = 0; q < 16; ++q) {
    if (q * 128 >= k) break;
    e[q] = make_float4(e[q].x - mean, e[q].y - mean, e[q].z - mean, e[q].w - mean);
    squares += e[q].x * e[q].x + e[q].y * e[q].y + e[q].z * e[q].z + e[q].w * e[q].w;
  }
  for (int d = 16; d; d /= 2) squares += __shfl_xor_sync(~0u, squares, d);
  float s = rsqrtf(squares / k + 1e-5f);
#pragma unroll
  for (int q = 0; q < 16; ++q) {
    if (q * 128 >= k) break;
    float4 p = g[q * 32 + lane], r = b[q * 32 + lane];
    ((float4*)to)[q * 32 + lane] = make_float4(e[q].x * s * p.x + r.x, e[q].y * s * p.y + r.y, e[q].z * s * p.z + r.z, e[q].w * s * p.w + r.w);
  }
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  layernorm_vector4<<<n[0] / 4, 128, 0, stream>>>((float*)a[0], (float*)a[1], (float*)a[2], (float*)a[3], n[1]);
  return 0;
}
