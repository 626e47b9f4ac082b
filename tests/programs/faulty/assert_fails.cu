// expect: memcheck assertion_failed
#include <cassert>
#include <cstdio>
__global__ void check(const int* v, int n) {
  int i = threadIdx.x;
  if (i < n) assert(v[i] > 0);  // BUG
}
int main() {
  int* v;
  cudaMalloc(&v, 128);
  cudaMemset(v, 0, 128);
  check<<<1, 32>>>(v, 32);
  cudaError_t e = cudaDeviceSynchronize();
  printf("%s\n", cudaGetErrorString(e));
  return e == cudaErrorAssert ? 1 : 0;
}
