// expect: racecheck global_race
#include <cstdio>
__global__ void smooth(float* x, int n, int steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < steps; k++) {
    float v = 0;
    if (i > 0 && i < n - 1) v = 0.5f * (x[i - 1] + x[i + 1]);  // BUG
    __syncthreads();
    if (i > 0 && i < n - 1) x[i] = v;  // BUG
    __syncthreads();
  }
}
int main() {
  const int n = 512;
  float* x;
  cudaMalloc(&x, n * sizeof(float));
  cudaMemset(x, 0, n * sizeof(float));
  smooth<<<4, 128>>>(x, n, 3);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
