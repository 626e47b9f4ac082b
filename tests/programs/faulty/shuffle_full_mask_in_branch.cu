// expect: synccheck invalid_warp_mask
// message: lanes that have exited
#include <cstdio>
__global__ void partial(int* v, int n) {
  int i = threadIdx.x;
  if (i < n) {
    int x = v[i];
    x += __shfl_xor_sync(0xffffffff, x, 1);  // BUG
    v[i] = x;
  }
}
int main() {
  int h[20] = {}, *v;
  cudaMalloc(&v, sizeof h);
  cudaMemcpy(v, h, sizeof h, cudaMemcpyHostToDevice);
  partial<<<1, 32>>>(v, 20);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
