// A row a block of 256 threads, three passes.
#include "../launch.h"

template <bool largest>
__device__ float combined(float v) {
  __shared__ float part[33];
  for (int d = 16; d; d /= 2) {
    float o = __shfl_xor_sync(~0u, v, d);
    v = largest ? fmaxf(v, o) : v + o;
  }
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < blockDim.x / 32; ++w) v = largest ? fmaxf(v, part[w]) : v + part[w];
    part[32] = v;
  }
  __syncthreads();
  return part[32];
}

__global__ void softmax_row_per_block(const float* x, float* y, int m, int k) {
  const float* from = x + (long)blockIdx.x * k;
  float* to = y + (long)blockIdx.x * k;
  float most = -1e30f, sum = 0;
  for (int j = threadIdx.x; j < k; j += blockDim.x) most = fmaxf(most, from[j]);
  most = combined<true>(most);
  for (int j = threadIdx.x; j < k; j += blockDim.x) sum += __expf(from[j] - most);
  sum = combined<false>(sum);
  for (int j = threadIdx.x; j < k; j += blockDim.x) to[j] = __expf(from[j] - most) / sum;
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  softmax_row_per_block<<<n[0], 256, 0, stream>>>((float*)a[0], (float*)a[1], n[0], n[1]);
  return 0;
}
