// expect: compile_failed
// message: requires separate compilation mode
#include <cstdio>
__global__ void child(int* v) { v[threadIdx.x] = 1; }
__global__ void parent(int* v) { if (threadIdx.x == 0) child<<<1, 32>>>(v); }
int main() {
  int* v;
  cudaMalloc(&v, 128);
  parent<<<1, 32>>>(v);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
