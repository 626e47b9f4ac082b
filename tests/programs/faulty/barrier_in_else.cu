// expect: synccheck divergent_barrier
// analyze: divergent_barrier
#include <cstdio>
__global__ void even_odd(float* v) {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = v[t];
  if (t % 2 == 0) {
    s[t] *= 2;
    __syncthreads();  // BUG
    v[t] = s[t] + s[t + 1];
  } else {
    s[t] += 1;
    __syncthreads();  // BUG
    v[t] = s[t] - s[t - 1];
  }
}
int main() {
  float h[64] = {}, *v;
  cudaMalloc(&v, sizeof h);
  cudaMemcpy(v, h, sizeof h, cudaMemcpyHostToDevice);
  even_odd<<<1, 64>>>(v);
  cudaMemcpy(h, v, sizeof h, cudaMemcpyDeviceToHost);
  printf("%f\n", h[1]);
}
