// A loop over the grid by 32 blocks.
#include "../launch.h"

__global__ void stencil_few_blocks(const float* x, float* y, int n) {
  for (int t = blockIdx.x * blockDim.x + threadIdx.x; t < n * n; t += gridDim.x * blockDim.x) {
    int i = t / n, j = t - i * n, k = t;
    bool inner = i > 0 && j > 0 && i < n - 1 && j < n - 1;
    y[k] = inner ? 0.2f * (x[k] + x[k - 1] + x[k + 1] + x[k - n] + x[k + n]) : x[k];
  }
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  dim3 block(256), grid(32);
  stencil_few_blocks<<<grid, block, 0, stream>>>((float*)a[0], (float*)a[1], n[0]);
  return 0;
}
