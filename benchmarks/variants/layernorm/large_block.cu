// A row a block of 1024 threads: barriers and idle threads.
#include "../launch.h"

template <int threads>
__device__ float summed(float v) {
  __shared__ float part[threads];
  part[threadIdx.x] = v;
  __syncthreads();
  for (int d = threads / 2; d; d /= 2) {
    if (threadIdx.x < d) part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }
  v = part[0];
  __syncthreads();
  return v;
}

__global__ void layernorm_large_block(const float* x, const float* gain, const float* bias, float* y, int k) {
  const float* from = x + (long)blockIdx.x * k;
  float* to = y + (long)blockIdx.x * k;
  float sum = 0, squares = 0;
  for (int j = threadIdx.x; j < k; j += 1024) sum += from[j];
  float mean = summed<1024>(sum) / k;
  for (int j = threadIdx.x; j < k; j += 1024) squares += (from[j] - mean) * (from[j] - mean);
  float scale = rsqrtf(summed<1024>(squares) / k + 1e-5f);
  for (int j = threadIdx.x; j < k; j += 1024) to[j] = (from[j] - mean) * scale * gain[j] + bias[j];
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  layernorm_large_block<<<n[0], 1024, 0, stream>>>((float*)a[0], (float*)a[1], (float*)a[2], (float*)a[3], n[1]);
  return 0;
}
