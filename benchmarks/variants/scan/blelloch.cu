// Up and down a tree in shared memory, with bank conflicts.
#include "../launch.h"

__global__ void scan_blelloch_top(unsigned* sums, int count) {  // exclusive, by one block
  __shared__ unsigned part[1024];
  unsigned before = 0;
  for (int from = 0; from < count; from += 1024) {
    int i = from + threadIdx.x;
    unsigned own = i < count ? sums[i] : 0, v = own;
    part[threadIdx.x] = v;
    __syncthreads();
    for (int d = 1; d < 1024; d *= 2) {
      unsigned o = threadIdx.x >= d ? part[threadIdx.x - d] : 0;
      __syncthreads();
      part[threadIdx.x] = v += o;
      __syncthreads();
    }
    if (i < count) sums[i] = before + v - own;
    before += part[1023];
    __syncthreads();
  }
}

__global__ void scan_blelloch_add(unsigned* y, const unsigned* sums, int per) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] += sums[i / per];
}

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
