// expect: initcheck uninitialized_global_read
#include <cstdio>
__global__ void accumulate(const float* x, float* sum, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(sum, x[i]);  // BUG
}
int main() {
  const int n = 256;
  float h[n], *x, *sum, r;
  for (int i = 0; i < n; i++) h[i] = 1;
  cudaMalloc(&x, sizeof h);
  cudaMalloc(&sum, sizeof(float));
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  accumulate<<<2, 128>>>(x, sum, n);
  cudaMemcpy(&r, sum, sizeof r, cudaMemcpyDeviceToHost);
  printf("%f\n", r);
  return 0;
}
