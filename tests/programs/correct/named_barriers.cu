// expect: ok
#include <cstdio>
// Warps 0-1 fill, warps 2-3 use; two named barriers hand the buffer to and fro.
__global__ void ping_pong(int* out, int rounds) {
  __shared__ int buf[64];
  int t = threadIdx.x;
  if (t < 64) {
    for (int r = 0; r < rounds; r++) {
      if (r) asm volatile("bar.sync 2, 128;" ::: "memory");
      buf[t] = r * 1000 + t;
      asm volatile("bar.arrive 1, 128;" ::: "memory");
    }
  } else {
    int sum = 0;
    for (int r = 0; r < rounds; r++) {
      asm volatile("bar.sync 1, 128;" ::: "memory");
      sum += buf[127 - t];
      if (r + 1 < rounds) asm volatile("bar.arrive 2, 128;" ::: "memory");
    }
    out[t - 64] = sum;
  }
}
int main() {
  int h[64], *d;
  cudaMalloc(&d, sizeof h);
  ping_pong<<<1, 128>>>(d, 4);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  int bad = 0;
  for (int i = 0; i < 64; i++) bad += h[i] != 6000 + 4 * (63 - i);
  printf("%d wrong (%s)\n", bad, cudaGetErrorString(cudaGetLastError()));
  return bad != 0;
}
