// Each thread sums a chunk of its own: uncoalesced.
#include "../launch.h"

__global__ void reduction_chunked_zero(float* sum) { *sum = 0; }

__global__ void reduction_chunked(const float* x, float* sum, int n) {
  __shared__ float part[32];
  float mine = 0;
  int chunk = n / (gridDim.x * blockDim.x), from = (blockIdx.x * blockDim.x + threadIdx.x) * chunk;
  for (int i = from; i < from + chunk; ++i) mine += x[i];
  for (int d = 16; d; d /= 2) mine += __shfl_down_sync(~0u, mine, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x < 32) {
    mine = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0;
    for (int d = 16; d; d /= 2) mine += __shfl_down_sync(~0u, mine, d);
    if (threadIdx.x == 0) atomicAdd(sum, mine);
  }
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  float *x = (float*)a[0], *sum = (float*)a[2];
  reduction_chunked_zero<<<1, 1, 0, stream>>>(sum);
  reduction_chunked<<<n[0] / 8192, 256, 0, stream>>>(x, sum, n[0]);
  return 0;
}
