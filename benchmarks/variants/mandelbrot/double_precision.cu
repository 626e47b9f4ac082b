// In double precision.
#include "../launch.h"

__device__ int escape(int i, int j, int n) {
  const double u = (double)-2 + (double)3 * j / n, v = (double)-1.5 + (double)3 * i / n;
  double p = 0, q = 0;
  int k = 0;
  for (; k < 256 && p * p + q * q < 4; ++k) {
    double r = p * p - q * q + u;
    q = 2 * p * q + v;
    p = r;
  }
  return k;
}

__global__ void mandelbrot_double_precision(int* count, int n) {
  int j = blockIdx.x * 8 + threadIdx.x, i = blockIdx.y * 32 + threadIdx.y;
  count[i * n + j] = escape(i, j, n);
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  dim3 block(8, 32), grid(n[0] / 8, n[0] / 32);
  mandelbrot_double_precision<<<grid, block, 0, stream>>>((int*)a[0], n[0]);
  return 0;
}
