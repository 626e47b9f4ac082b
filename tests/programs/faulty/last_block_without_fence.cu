// expect: racecheck global_race
#include <cstdio>
__device__ unsigned done;
__global__ void sum(const float* x, float* partial, float* out, int n) {
  __shared__ float s[128];
  __shared__ bool last;
  int t = threadIdx.x, i = blockIdx.x * 128 + t;
  s[t] = i < n ? x[i] : 0;
  __syncthreads();
  for (int d = 64; d; d /= 2) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0) {
    partial[blockIdx.x] = s[0];  // BUG
    last = atomicAdd(&done, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && t == 0) {
    float total = 0;
    for (unsigned b = 0; b < gridDim.x; b++) total += partial[b];  // BUG
    *out = total;
  }
}
int main() {
  const int n = 1000;
  float h[n], *x, *p, *o, r;
  for (float& v : h) v = 1;
  cudaMalloc(&x, sizeof h);
  cudaMalloc(&p, 64);
  cudaMalloc(&o, 4);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  sum<<<8, 128>>>(x, p, o, n);
  cudaMemcpy(&r, o, 4, cudaMemcpyDeviceToHost);
  printf("%f\n", r);
}
