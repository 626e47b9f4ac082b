// expect: memcheck invalid_copy
// message: cudaMemcpyDeviceToHost does not fit a copy from host memory to device memory
#include <cstdio>
__global__ void twice(float* v) { v[threadIdx.x] *= 2; }
int main() {
  float h[32], *d;
  for (int i = 0; i < 32; i++) h[i] = i;
  cudaMalloc(&d, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyDeviceToHost);
  twice<<<1, 32>>>(d);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  printf("%f\n", h[3]);
  return h[3] != 6;
}
