// Each thread sums 16 elements of its own in a row: uncoalesced.
#include "../launch.h"

#define VARIANT(part) scan_chunked_##part
#include "offsets.cuh"

__global__ void scan_chunked(const unsigned* x, unsigned* y, unsigned* sums) {
  __shared__ unsigned part[8];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, from = (blockIdx.x * 256 + threadIdx.x) * 16;
  unsigned own = 0;
  for (int k = 0; k < 16; ++k) own += x[from + k];
  unsigned v = own;
  for (int d = 1; d < 32; d *= 2) {
    unsigned o = __shfl_up_sync(~0u, v, d);
    if (lane >= d) v += o;
  }
  if (lane == 31) part[warp] = v;
  __syncthreads();
  unsigned before = 0;
  for (int w = 0; w < warp; ++w) before += part[w];
  unsigned sum = before + v - own;
  for (int k = 0; k < 16; ++k) y[from + k] = sum += x[from + k];
  if (threadIdx.x == 255) sums[blockIdx.x] = sum;
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  unsigned *x = (unsigned*)a[0], *y = (unsigned*)a[1], *sums = (unsigned*)a[2];
  int count = n[0] / 4096;
  scan_chunked<<<count, 256, 0, stream>>>(x, y, sums);
  scan_chunked_top<<<1, 1024, 0, stream>>>(sums, count);
  scan_chunked_add<<<n[0] / 256, 256, 0, stream>>>(y, sums, 4096);
  return 0;
}
