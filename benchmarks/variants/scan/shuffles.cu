// Sums within warps by shuffles, one element a thread.
#include "../launch.h"

__global__ void scan_shuffles_top(unsigned* sums, int count) {  // exclusive, by one block
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

__global__ void scan_shuffles_add(unsigned* y, const unsigned* sums, int per) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] += sums[i / per];
}

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
