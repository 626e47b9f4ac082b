// expect: memcheck invalid_shared_write
// analyze: missing_dynamic_shared
#include <cstdio>
__global__ void reverse(int* d, int n) {
  extern __shared__ int s[];
  int t = threadIdx.x;
  s[t] = d[t];  // BUG
  __syncthreads();
  d[t] = s[n - t - 1];
}
int main() {
  int* d;
  cudaMalloc(&d, 64 * sizeof(int));
  cudaMemset(d, 0, 64 * sizeof(int));
  reverse<<<1, 64>>>(d, 64);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
