// One cell a thread, indices from divisions and an exact division of the sum.
#include "../launch.h"

__global__ void stencil_divided(const float* x, float* y, int n) {
  int t = blockIdx.x * 256 + threadIdx.x, i = t / n, j = t % n;
  int k = i * n + j;
  bool inner = i > 0 && j > 0 && i < n - 1 && j < n - 1;
  float sum = x[k] + x[(k + 1) % (n * n)] + x[k ? k - 1 : 0] + x[k >= n ? k - n : 0] + x[(k + n) % (n * n)];
  y[k] = inner ? sum / 5.0f : x[k];
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  dim3 block(256), grid(n[0] * n[0] / 256);
  stencil_divided<<<grid, block, 0, stream>>>((float*)a[0], (float*)a[1], n[0]);
  return 0;
}
