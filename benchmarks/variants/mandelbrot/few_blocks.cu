// A loop over the grid by 100 blocks of 128 threads.
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

__global__ void mandelbrot_few_blocks(int* count, int n) {
  for (int t = blockIdx.x * 128 + threadIdx.x; t < n * n; t += gridDim.x * 128) count[t] = escape(t / n, t % n, n);
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  dim3 block(128), grid(100);
  mandelbrot_few_blocks<<<grid, block, 0, stream>>>((int*)a[0], n[0]);
  return 0;
}
