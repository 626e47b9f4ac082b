// expect: synccheck divergent_barrier
// analyze: divergent_barrier
#include <cstdio>
__global__ void shift(int* v, int* sums, int n) {
  __shared__ int s[128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x] = i < n ? v[i] : 0;
  if (threadIdx.x < 100) {
    __syncthreads();  // BUG
    v[i] = s[threadIdx.x + 1];
  }
  sums[i] = s[threadIdx.x];
}
int main() {
  int *v, *sums;
  cudaMalloc(&v, 256 * sizeof(int));
  cudaMalloc(&sums, 256 * sizeof(int));
  cudaMemset(v, 0, 256 * sizeof(int));
  shift<<<2, 128>>>(v, sums, 256);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
