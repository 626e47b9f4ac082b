// Log-step sums in shared memory, two barriers a step.
#include "../launch.h"

__global__ void scan_hillis_steele_top(unsigned* sums, int count) {  // exclusive, by one block
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

__global__ void scan_hillis_steele_add(unsigned* y, const unsigned* sums, int per) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] += sums[i / per];
}

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
