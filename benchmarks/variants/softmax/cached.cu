// A row a block, kept in shared memory.
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

__global__ void softmax_cached(const float* x, float* y, int m, int k) {
  extern __shared__ float row[];
  const float* from = x + (long)blockIdx.x * k;
  float* to = y + (long)blockIdx.x * k;
  float most = -1e30f, sum = 0;
  for (int j = threadIdx.x; j < k; j += blockDim.x) most = fmaxf(most, row[j] = from[j]);
  most = combined<true>(most);
  for (int j = threadIdx.x; j < k; j += blockDim.x) sum += row[j] = __expf(row[j] - most);
  float scale = 1 / combined<false>(sum);
  for (int j = threadIdx.x; j < k; j += blockDim.x) to[j] = row[j] * scale;
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  softmax_cached<<<n[0], 128, n[1] * 4, stream>>>((float*)a[0], (float*)a[1], n[0], n[1]);
  return 0;
}
