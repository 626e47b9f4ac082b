// expect: memcheck endless_loop
#include <cstdio>
__global__ void collatz(int* steps, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    int v = i, count = 0;  // 0 never becomes 1
    while (v != 1) {  // BUG
      v = v % 2 ? 3 * v + 1 : v / 2;  // BUG
      ++count;  // BUG
    }
    steps[i] = count;
  }
}
int main() {
  int* d;
  cudaMalloc(&d, 100 * sizeof(int));
  collatz<<<1, 128>>>(d, 100);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
