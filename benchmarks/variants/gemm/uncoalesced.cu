// One output a thread, neighbours in a column: every access of a and c is strided.
#include "../launch.h"

__global__ void gemm_uncoalesced(const float* a, const float* b, float* c, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x, col = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + col];
  c[row * n + col] = sum;
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  dim3 block(32, 8), grid(n[0] / 32, n[0] / 8);
  gemm_uncoalesced<<<grid, block, 0, stream>>>((float*)a[0], (float*)a[1], (float*)a[2], n[0]);
  return 0;
}
