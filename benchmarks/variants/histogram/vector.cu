// Bins in shared memory, 16 bytes at once.
#include "../launch.h"

__global__ void histogram_vector_zero(unsigned* bins) { bins[threadIdx.x] = 0; }

__global__ void histogram_vector(const unsigned char* x, unsigned* bins, int n) {
  __shared__ unsigned mine[256];
  for (int t = threadIdx.x; t < 256; t += blockDim.x) mine[t] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 16; i += gridDim.x * blockDim.x) {
    uint4 v = ((const uint4*)x)[i];
    unsigned w[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int k = 0; k < 4; ++k)
#pragma unroll
      for (int b = 0; b < 32; b += 8) atomicAdd(&mine[w[k] >> b & 255], 1);
  }
  __syncthreads();
  for (int t = threadIdx.x; t < 256; t += blockDim.x)
    if (mine[t]) atomicAdd(&bins[t], mine[t]);
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  histogram_vector_zero<<<1, 256, 0, stream>>>((unsigned*)a[1]);
  histogram_vector<<<528, 256, 0, stream>>>((unsigned char*)a[0], (unsigned*)a[1], n[0]);
  return 0;
}
