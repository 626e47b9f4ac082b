// All 256 iterations without a branch; the count by selection.
#include "../launch.h"

__device__ int escape(int i, int j, int n) {
  const float u = -2.0f + 3.0f * j / n, v = -1.5f + 3.0f * i / n;
  float p = 0, q = 0;
  int k = 0;
  bool inside = true;
#pragma unroll 8
  for (int s = 0; s < 256; ++s) {
    inside = inside && p * p + q * q < 4.0f;
    k += inside;
    float r = p * p - q * q + u;
    q = 2 * p * q + v;
    p = r;
  }
  return k;
}

__global__ void mandelbrot_blind(int* count, int n) {
  int j = blockIdx.x * 256 + threadIdx.x, i = blockIdx.y * 1 + threadIdx.y;
  count[i * n + j] = escape(i, j, n);
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  dim3 block(256, 1), grid(n[0] / 256, n[0] / 1);
  mandelbrot_blind<<<grid, block, 0, stream>>>((int*)a[0], n[0]);
  return 0;
}
