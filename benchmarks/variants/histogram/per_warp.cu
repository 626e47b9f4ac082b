// Bins of each warp, 4 bytes at once.
#include "../launch.h"

__global__ void histogram_per_warp_zero(unsigned* bins) { bins[threadIdx.x] = 0; }

__global__ void histogram_per_warp(const unsigned char* x, unsigned* bins, int n) {
  __shared__ unsigned mine[8][257];
  for (int t = threadIdx.x; t < 8 * 257; t += 256) mine[0][t] = 0;
  __syncthreads();
  unsigned* bin = mine[threadIdx.x / 32];
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n / 4; i += gridDim.x * 256) {
    unsigned v = ((const unsigned*)x)[i];
#pragma unroll
    for (int b = 0; b < 32; b += 8) atomicAdd(&bin[v >> b & 255], 1);
  }
  __syncthreads();
  unsigned sum = 0;
  for (int w = 0; w < 8; ++w) sum += mine[w][threadIdx.x];
  atomicAdd(&bins[threadIdx.x], sum);
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  histogram_per_warp_zero<<<1, 256, 0, stream>>>((unsigned*)a[1]);
  histogram_per_warp<<<528, 256, 0, stream>>>((unsigned char*)a[0], (unsigned*)a[1], n[0]);
  return 0;
}
