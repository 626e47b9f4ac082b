// expect: memcheck host_access
// message: Host code dereferenced device memory
#include <cstdio>
__global__ void fill(int* v) { v[threadIdx.x] = threadIdx.x; }
int main() {
  int* d;
  cudaMalloc(&d, 32 * sizeof(int));
  fill<<<1, 32>>>(d);
  cudaDeviceSynchronize();
  printf("%d\n", d[3]);
}
