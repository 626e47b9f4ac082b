// expect: memcheck invalid_launch
// message: 4096 threads: at most 1024 are allowed
// analyze: block_too_large
#include <cstdio>
__global__ void init(float* p) {
  int i = threadIdx.y * blockDim.x + threadIdx.x;
  p[i] = 1;
}
int main() {
  float *p, h = 0;
  cudaMalloc(&p, 64 * 64 * sizeof(float));
  cudaMemset(p, 0, 64 * 64 * sizeof(float));
  init<<<1, dim3(64, 64)>>>(p);
  cudaMemcpy(&h, p, sizeof h, cudaMemcpyDeviceToHost);
  printf("%f\n", h);
  return h != 1;
}
