// Up and down a tree in shared memory, with bank conflicts.
#include "../launch.h"

#define VARIANT(part) scan_blelloch_##part
#include "offsets.cuh"

__global__ void scan_blelloch(const unsigned* x, unsigned* y, unsigned* sums) {
  __shared__ unsigned part[512];
  int t = threadIdx.x, from = blockIdx.x * 512;
  unsigned p = x[from + 2 * t], q = x[from + 2 * t + 1];
  part[2 * t] = p;
  part[2 * t + 1] = q;
  int d = 1;
  for (int k = 256; k; k /= 2, d *= 2) {
    __syncthreads();
    if (t < k) {
      int i = d * (2 * t + 1) - 1, j = d * (2 * t + 2) - 1;
      part[j] += part[i];
    }
  }
  __syncthreads();
  if (t == 0) sums[blockIdx.x] = part[511], part[511] = 0;
  for (int k = 1; k < 512; k *= 2) {
    d /= 2;
    __syncthreads();
    if (t < k) {
      int i = d * (2 * t + 1) - 1, j = d * (2 * t + 2) - 1;
      unsigned v = part[i];
      part[i] = part[j];
      part[j] += v;
    }
  }
  __syncthreads();
  y[from + 2 * t] = part[2 * t] + p;
  y[from + 2 * t + 1] = part[2 * t + 1] + q;
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  unsigned *x = (unsigned*)a[0], *y = (unsigned*)a[1], *sums = (unsigned*)a[2];
  int count = n[0] / 512;
  scan_blelloch<<<count, 256, 0, stream>>>(x, y, sums);
  scan_blelloch_top<<<1, 1024, 0, stream>>>(sums, count);
  scan_blelloch_add<<<n[0] / 256, 256, 0, stream>>>(y, sums, 512);
  return 0;
}
