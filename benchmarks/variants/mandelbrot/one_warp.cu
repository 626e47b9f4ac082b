// Blocks of one warp of 8 x 4 pixels.
#include "../launch.h"

__device__ int escape(int i, int j, int n) {
  const float u = (float)-2 + (float)3 * j / n, v = (float)-1.5 + (float)3 * i / n;
  float p = 0, q = 0;
  int k = 0;
  for (; k < 256 && p * p + q * q < 4; ++k) {
    float r = p * p - q * q + u;
    q = 2 * p * q + v;
    p = r;
  }
  return k;
}

__global__ void mandelbrot_one_warp(int* count, int n) {
  int j = blockIdx.x * 8 + threadIdx.x, i = blockIdx.y * 4 + threadIdx.y;
  count[i * n + j] = escape(i, j, n);
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  dim3 block(8, 4), grid(n[0] / 8, n[0] / 4);
  mandelbrot_one_warp<<<grid, block, 0, stream>>>((int*)a[0], n[0]);
  return 0;
}
