// Up and down a tree in shared memory, padded.
#include "../launch.h"

#define VARIANT(part) scan_blelloch_padded_##part
#include "offsets.cuh"

__global__ void scan_blelloch_padded(const unsigned* x, unsigned* y, unsigned* sums) {
  __shared__ unsigned part[528];
  int t = threadIdx.x, from = blockIdx.x * 512;
  unsigned p = x[from + 2 * t], q = x[from + 2 * t + 1];
  part[(2 * t) + (2 * t) / 32] = p;
  part[(2 * t + 1) + (2 * t + 1) / 32] = q;
  int d = 1;
  for (int k = 256; k; k /= 2, d *= 2) {
    __syncthreads();
    if (t < k) {
      int i = d * (2 * t + 1) - 1, j = d * (2 * t + 2) - 1;
      part[j + (j) / 32] += part[i + (i) / 32];
    }
  }
  __syncthreads();
  if (t == 0) sums[blockIdx.x] = part[511 + (511) / 32], part[511 + (511) / 32] = 0;
  for (int k = 1; k < 512; k *= 2) {
    d /= 2;
    __syncthreads();
    if (t < k) {
      int i = d * (2 * t + 1) - 1, j = d * (2 * t + 2) - 1;
      unsigned v = part[i + (i) / 32];
      part[i + (i) / 32] = part[j + (j) / 32];
      part[j + (j) / 32] += v;
    }
  }
  __syncthreads();
  y[from + 2 * t] = part[(2 * t) + (2 * t) / 32] + p;
  y[from + 2 * t + 1] = part[(2 * t + 1) + (2 * t + 1) / 32] + q;
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  unsigned *x = (unsigned*)a[0], *y = (unsigned*)a[1], *sums = (unsigned*)a[2];
  int count = n[0] / 512;
  scan_blelloch_padded<<<count, 256, 0, stream>>>(x, y, sums);
  scan_blelloch_padded_top<<<1, 1024, 0, stream>>>(sums, count);
  scan_blelloch_padded_add<<<n[0] / 256, 256, 0, stream>>>(y, sums, 512);
  return 0;
}
