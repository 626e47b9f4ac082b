// Tile and filter in shared memory.
#include "../launch.h"

__global__ void convolution_shared(const float* x, const float* filter, float* y, int n) {
  __shared__ float tile[14][38], taps[49];
  int t = threadIdx.y * 32 + threadIdx.x, wide = n + 6, i0 = blockIdx.y * 8, j0 = blockIdx.x * 32;
  for (int k = t; k < 14 * 38; k += 256) tile[k / 38][k % 38] = x[(i0 + k / 38) * wide + j0 + k % 38];
  if (t < 49) taps[t] = filter[t];
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int p = 0; p < 7; ++p)
#pragma unroll
    for (int q = 0; q < 7; ++q) sum += tile[threadIdx.y + p][threadIdx.x + q] * taps[p * 7 + q];
  y[(i0 + threadIdx.y) * n + j0 + threadIdx.x] = sum;
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  dim3 block(32, 8), grid(n[0] / 32, n[0] / 8);
  convolution_shared<<<grid, block, 0, stream>>>((float*)a[0], (float*)a[1], (float*)a[2], n[0]);
  return 0;
}
