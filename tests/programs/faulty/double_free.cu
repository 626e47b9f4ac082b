// expect: memcheck double_free
// message: it was freed before
#include <cstdio>
int main() {
  float* p;
  cudaMalloc(&p, 1024);
  cudaMemset(p, 0, 1024);
  cudaFree(p);
  cudaError_t e = cudaFree(p);
  printf("%s\n", cudaGetErrorString(e));
  return e != cudaSuccess;
}
