// Tile in shared memory, stored by columns of 32: every access of it meets one bank.
#include "../launch.h"

__global__ void convolution_shared_conflicts(const float* x, const float* filter, float* y, int n) {
  __shared__ float tile[38][32], taps[49];
  int t = threadIdx.y * 32 + threadIdx.x, wide = n + 6, i0 = blockIdx.y * 8, j0 = blockIdx.x * 32;
  for (int k = t; k < 14 * 38; k += 256) tile[k % 38][k / 38] = x[(i0 + k / 38) * wide + j0 + k % 38];
  if (t < 49) taps[t] = filter[t];
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int p = 0; p < 7; ++p)
#pragma unroll
    for (int q = 0; q < 7; ++q) sum += tile[threadIdx.x + q][threadIdx.y + p] * taps[p * 7 + q];
  y[(i0 + threadIdx.y) * n + j0 + threadIdx.x] = sum;
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  dim3 block(32, 8), grid(n[0] / 32, n[0] / 8);
  convolution_shared_conflicts<<<grid, block, 0, stream>>>((float*)a[0], (float*)a[1], (float*)a[2], n[0]);
  return 0;
}
