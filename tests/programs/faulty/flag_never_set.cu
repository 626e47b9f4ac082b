// expect: memcheck endless_loop
#include <cstdio>
__device__ volatile int flag;
__global__ void wait_for_host(int* out) {
  while (flag == 0) {  // BUG
  }
  out[threadIdx.x] = 1;
}
int main() {
  int* d;
  cudaMalloc(&d, 128);
  wait_for_host<<<1, 32>>>(d);
  int one = 1;
  cudaMemcpyToSymbol(flag, &one, sizeof one);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
