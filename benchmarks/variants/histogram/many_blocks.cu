// Bins of the block in shared memory for 1024 elements only: the merge dominates.
#include "../launch.h"

__global__ void histogram_many_blocks_zero(unsigned* bins) { bins[threadIdx.x] = 0; }

__global__ void histogram_many_blocks(const unsigned char* x, unsigned* bins, int n) {
  __shared__ unsigned mine[256];
  for (int t = threadIdx.x; t < 256; t += blockDim.x) mine[t] = 0;
  __syncthreads();
  for (int k = 0; k < 4; ++k) {
    int i = blockIdx.x * 1024 + k * 256 + threadIdx.x;
    if (i < n) atomicAdd(&mine[x[i]], 1);
  }
  __syncthreads();
  for (int t = threadIdx.x; t < 256; t += blockDim.x)
    if (mine[t]) atomicAdd(&bins[t], mine[t]);
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  histogram_many_blocks_zero<<<1, 256, 0, stream>>>((unsigned*)a[1]);
  histogram_many_blocks<<<blocks_for(n[0], 1024), 256, 0, stream>>>((unsigned char*)a[0], (unsigned*)a[1], n[0]);
  return 0;
}
