// expect: memcheck invalid_global_write
// message: is it a host pointer?
#include <cstdio>
#include <vector>
__global__ void inc(int* v, int n) {
  int i = threadIdx.x;
  if (i < n) v[i] = 1;  // BUG
}
int main() {
  std::vector<int> h(64, 1);
  inc<<<1, 64>>>(h.data(), 64);
  cudaError_t e = cudaDeviceSynchronize();
  printf("%s\n", cudaGetErrorString(e));
  return e == cudaSuccess;
}
