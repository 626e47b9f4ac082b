// expect: synccheck invalid_warp_mask
// message: not in its own mask
#include <cstdio>
__global__ void warp_sum(const int* v, int* out, int n) {
  int lane = threadIdx.x;
  if (lane < n) {
    int s = v[lane];
    for (int d = 16; d > 0; d >>= 1) s += __shfl_down_sync(0x0000ffff, s, d);  // BUG
    if (lane == 0) *out = s;
  }
}
int main() {
  int h[32], *v, *out;
  for (int i = 0; i < 32; i++) h[i] = i;
  cudaMalloc(&v, sizeof h);
  cudaMalloc(&out, 4);
  cudaMemcpy(v, h, sizeof h, cudaMemcpyHostToDevice);
  warp_sum<<<1, 32>>>(v, out, 32);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
