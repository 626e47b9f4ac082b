// Sums within warps by shuffles, one element a thread.
#include "../launch.h"

#define VARIANT(part) scan_shuffles_##part
#include "offsets.cuh"

__global__ void scan_shuffles(const unsigned* x, unsigned* y, unsigned* sums) {
  __shared__ unsigned part[8];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, i = blockIdx.x * 256 + threadIdx.x;
  unsigned v = x[i];
  for (int d = 1; d < 32; d *= 2) {
    unsigned o = __shfl_up_sync(~0u, v, d);
    if (lane >= d) v += o;
  }
  if (lane == 31) part[warp] = v;
  __syncthreads();
  unsigned before = 0;
  for (int w = 0; w < warp; ++w) before += part[w];
  y[i] = v += before;
  if (threadIdx.x == 255) sums[blockIdx.x] = v;
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  unsigned *x = (unsigned*)a[0], *y = (unsigned*)a[1], *sums = (unsigned*)a[2];
  int count = n[0] / 256;
  scan_shuffles<<<count, 256, 0, stream>>>(x, y, sums);
  scan_shuffles_top<<<1, 1024, 0, stream>>>(sums, count);
  scan_shuffles_add<<<n[0] / 256, 256, 0, stream>>>(y, sums, 256);
  return 0;
}
