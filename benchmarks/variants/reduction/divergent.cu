// A tree whose active threads are spread over all warps, found with a modulus.
#include "../launch.h"

__global__ void reduction_divergent_zero(float* sum) { *sum = 0; }

__global__ void reduction_divergent(const float* x, float* sum, int n) {
  __shared__ float part[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  part[t] = i < n ? x[i] : 0;
  __syncthreads();
  for (int d = 1; d < 256; d *= 2) {
    if (t % (2 * d) == 0) part[t] += part[t + d];
    __syncthreads();
  }
  if (t == 0) atomicAdd(sum, part[0]);
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  float *x = (float*)a[0], *sum = (float*)a[2];
  reduction_divergent_zero<<<1, 1, 0, stream>>>(sum);
  reduction_divergent<<<blocks_for(n[0], 256), 256, 0, stream>>>(x, sum, n[0]);
  return 0;
}
