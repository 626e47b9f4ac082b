// expect: racecheck shared_race
#include <cstdio>
__global__ void scan(int* data) {
  __shared__ int s[256];
  int t = threadIdx.x;
  s[t] = data[t];
  __syncthreads();
  for (int d = 1; d < 256; d *= 2) {
    if (t >= d) s[t] += s[t - d];  // BUG
    __syncthreads();
  }
  data[t] = s[t];
}
int main() {
  int h[256], *d;
  for (int& v : h) v = 1;
  cudaMalloc(&d, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  scan<<<1, 256>>>(d);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  printf("%d\n", h[255]);
  return h[255] != 256;
}
