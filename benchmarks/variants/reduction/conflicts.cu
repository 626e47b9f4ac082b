// A tree with strided indices: bank conflicts.
#include "../launch.h"

__global__ void reduction_conflicts_zero(float* sum) { *sum = 0; }

__global__ void reduction_conflicts(const float* x, float* sum, int n) {
  __shared__ float part[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  part[t] = i < n ? x[i] : 0;
  __syncthreads();
  for (int d = 1; d < 256; d *= 2) {
    int k = 2 * d * t;
    if (k < 256) part[k] += part[k + d];
    __syncthreads();
  }
  if (t == 0) atomicAdd(sum, part[0]);
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  float *x = (float*)a[0], *sum = (float*)a[2];
  reduction_conflicts_zero<<<1, 1, 0, stream>>>(sum);
  reduction_conflicts<<<blocks_for(n[0], 256), 256, 0, stream>>>(x, sum, n[0]);
  return 0;
}
