// expect: racecheck shared_race
#include <cstdio>
__device__ void warp_reduce(volatile int* s, int t) {
  s[t] += s[t + 16];  // BUG
  s[t] += s[t + 8];  // BUG
  s[t] += s[t + 4];  // BUG
  s[t] += s[t + 2];  // BUG
  s[t] += s[t + 1];  // BUG
}
__global__ void reduce(const int* in, int* out) {
  __shared__ int s[64];
  s[threadIdx.x] = in[threadIdx.x];
  s[threadIdx.x + 32] = 0;
  __syncwarp();
  warp_reduce(s, threadIdx.x);
  if (threadIdx.x == 0) *out = s[0];
}
int main() {
  int h[32], *in, *out;
  for (int i = 0; i < 32; i++) h[i] = i;
  cudaMalloc(&in, sizeof h);
  cudaMalloc(&out, 4);
  cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
  reduce<<<1, 32>>>(in, out);
  cudaMemcpy(h, out, 4, cudaMemcpyDeviceToHost);
  printf("%d\n", h[0]);
}
