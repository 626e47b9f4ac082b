// Shuffles, 16 elements a thread in loads of 16 bytes.
#include "../launch.h"

#define VARIANT(part) scan_vector4_##part
#include "offsets.cuh"

__global__ void scan_vector4(const unsigned* x, unsigned* y, unsigned* sums) {
  __shared__ unsigned part[8];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const uint4* from = (const uint4*)x + (blockIdx.x * 8 + warp) * 128 + lane;
  uint4 e[4];
  unsigned carry = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) e[k] = from[32 * k];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    e[k].y += e[k].x;
    e[k].z += e[k].y;
    e[k].w += e[k].z;
    unsigned own = e[k].w, s = own;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
      unsigned o = __shfl_up_sync(~0u, s, d);
      if (lane >= d) s += o;
    }
    unsigned add = carry + s - own;
    e[k].x += add;
    e[k].y += add;
    e[k].z += add;
    e[k].w += add;
    carry += __shfl_sync(~0u, s, 31);
  }
  if (lane == 31) part[warp] = carry;
  __syncthreads();
  unsigned before = 0;
  for (int w = 0; w < warp; ++w) before += part[w];
  uint4* to = (uint4*)y + (blockIdx.x * 8 + warp) * 128 + lane;
#pragma unroll
  for (int k = 0; k < 4; ++k) to[32 * k] = make_uint4(e[k].x + before, e[k].y + before, e[k].z + before, e[k].w + before);
  if (threadIdx.x == 255) sums[blockIdx.x] = before + carry;
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  unsigned *x = (unsigned*)a[0], *y = (unsigned*)a[1], *sums = (unsigned*)a[2];
  int count = n[0] / 4096;
  scan_vector4<<<count, 256, 0, stream>>>(x, y, sums);
  scan_vector4_top<<<1, 1024, 0, stream>>>(sums, count);
  scan_vector4_add<<<n[0] / 256, 256, 0, stream>>>(y, sums, 4096);
  return 0;
}
