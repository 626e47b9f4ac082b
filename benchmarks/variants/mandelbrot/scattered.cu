// Neighbouring lanes take pixels far apart: all wait for the slowest.
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

__global__ void mandelbrot_scattered(int* count, int n) {
  int t = blockIdx.x * 256 + threadIdx.x, k = (int)((t * 2654435761u) % (unsigned)(n * n));
  count[k] = escape(k / n, k % n, n);
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  dim3 block(256), grid(n[0] * n[0] / 256);
  mandelbrot_scattered<<<grid, block, 0, stream>>>((int*)a[0], n[0]);
  return 0;
}
