// Log-step sums in shared memory, two barriers a step.
#include "../launch.h"

#define VARIANT(part) scan_hillis_steele_##part
#include "offsets.cuh"

__global__ void scan_hillis_steele(const unsigned* x, unsigned* y, unsigned* sums) {
  __shared__ unsigned part[512];
  int t = threadIdx.x, i = blockIdx.x * 512 + t;
  unsigned v = x[i];
  part[t] = v;
  __syncthreads();
  for (int d = 1; d < 512; d *= 2) {
    unsigned o = t >= d ? part[t - d] : 0;
    __syncthreads();
    part[t] = v += o;
    __syncthreads();
  }
  y[i] = v;
  if (t == 511) sums[blockIdx.x] = v;
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  unsigned *x = (unsigned*)a[0], *y = (unsigned*)a[1], *sums = (unsigned*)a[2];
  int count = n[0] / 512;
  scan_hillis_steele<<<count, 512, 0, stream>>>(x, y, sums);
  scan_hillis_steele_top<<<1, 1024, 0, stream>>>(sums, count);
  scan_hillis_steele_add<<<n[0] / 256, 256, 0, stream>>>(y, sums, 512);
  return 0;
}
