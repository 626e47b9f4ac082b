// expect: memcheck invalid_global_write
// analyze: missing_bounds_guard
#include <cstdio>
#define N 300
__global__ void scale(float* data, float s) {
  int idx = threadIdx.x + blockIdx.x * blockDim.x;
  data[idx] = s * idx;  // BUG
}
int main() {
  float* d;
  float h[N];
  cudaMalloc((void**)&d, N * sizeof(float));
  scale<<<(N + 127) / 128, 128>>>(d, 2.0f);
  cudaMemcpy(h, d, N * sizeof(float), cudaMemcpyDeviceToHost);
  printf("%s\n", cudaGetErrorString(cudaGetLastError()));
  cudaFree(d);
  return 0;
}
