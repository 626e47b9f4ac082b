// expect: memcheck use_after_free_read
// message: Use after free
#include <cstdio>
__global__ void copy(const int* a, int* b) { b[threadIdx.x] = a[threadIdx.x]; }  // BUG
int main() {
  int *a, *b;
  cudaMalloc(&a, 128);
  cudaMalloc(&b, 128);
  cudaMemset(a, 1, 128);
  cudaFree(a);
  copy<<<1, 32>>>(a, b);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  cudaFree(b);
}
