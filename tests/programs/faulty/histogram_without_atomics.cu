// expect: racecheck global_race
#include <cstdio>
__global__ void hist(const unsigned char* data, int n, int* bins) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) bins[data[i]]++;  // BUG
}
int main() {
  unsigned char h[1024], *d;
  int* bins;
  for (int i = 0; i < 1024; i++) h[i] = i % 10;
  cudaMalloc(&d, 1024);
  cudaMalloc(&bins, 256 * sizeof(int));
  cudaMemset(bins, 0, 256 * sizeof(int));
  cudaMemcpy(d, h, 1024, cudaMemcpyHostToDevice);
  hist<<<8, 128>>>(d, 1024, bins);
  int r[256];
  cudaMemcpy(r, bins, sizeof r, cudaMemcpyDeviceToHost);
  printf("%d\n", r[3]);
  return 0;
}
