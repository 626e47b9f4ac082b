// expect: initcheck uninitialized_local_read
#include <cstdio>
__global__ void top(const int* v, int* out, int n) {
  int best[8];
  for (int i = threadIdx.x; i < n; i += 32) {
    int slot = v[i] & 7;
    if (v[i] > best[slot]) best[slot] = v[i];  // BUG
  }
  int s = 0;
  for (int k = 0; k < 8; k++) s = max(s, best[k]);  // BUG
  out[threadIdx.x] = s;
}
int main() {
  int h[100], *v, *out;
  for (int i = 0; i < 100; i++) h[i] = i * 37 % 101;
  cudaMalloc(&v, sizeof h);
  cudaMalloc(&out, 128);
  cudaMemcpy(v, h, sizeof h, cudaMemcpyHostToDevice);
  top<<<1, 32>>>(v, out, 100);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
