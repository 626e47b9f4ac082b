// expect: clean
#include <cstdio>
__device__ int lock;
__global__ void critical(int* counter) {
  while (atomicCAS(&lock, 0, 1) != 0) {
  }
  *counter += 1;
  __threadfence();
  atomicExch(&lock, 0);
}
int main() {
  int *c, h = -1;
  cudaMalloc(&c, 4);
  cudaMemset(c, 0, 4);
  critical<<<2, 32>>>(c);
  cudaMemcpy(&h, c, 4, cudaMemcpyDeviceToHost);
  printf("%d %s\n", h, cudaGetErrorString(cudaGetLastError()));
  return h != 64;
}
