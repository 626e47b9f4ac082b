// expect: memcheck invalid_copy
// message: the destination needs 800 B
#include <cstdio>
#include <vector>
int main() {
  const int n = 100;
  std::vector<double> h(n, 1.0);
  float* d;
  cudaMalloc(&d, n * sizeof(float));
  cudaError_t e = cudaMemcpy(d, h.data(), n * sizeof(double), cudaMemcpyHostToDevice);
  printf("%s\n", cudaGetErrorString(e));
  return e == cudaSuccess;
}
