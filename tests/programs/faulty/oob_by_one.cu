// expect: memcheck invalid_global_read
// message: just past the end
#include <cstdio>
#include <vector>
__global__ void differences(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i + 1] - x[i];  // BUG
}
int main() {
  const int n = 1000;
  std::vector<float> h(n, 1.f);
  float *x, *y;
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&y, n * sizeof(float));
  cudaMemcpy(x, h.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  differences<<<(n + 255) / 256, 256>>>(x, y, n);
  cudaMemcpy(h.data(), y, n * sizeof(float), cudaMemcpyDeviceToHost);
  printf("%f\n", h[0]);
}
