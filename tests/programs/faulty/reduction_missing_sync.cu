// expect: racecheck shared_race
// analyze: missing_barrier
#include <cstdio>
__global__ void reduce(const float* in, float* out, int n) {
  extern __shared__ float sdata[];
  unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  sdata[tid] = i < n ? in[i] : 0.f;
  __syncthreads();
  for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
    if (tid < s) sdata[tid] += sdata[tid + s];  // BUG
  }
  if (tid == 0) out[blockIdx.x] = sdata[0];
}
int main() {
  const int n = 1000;
  float h[n], *in, *out, r[4];
  for (int i = 0; i < n; i++) h[i] = 1;
  cudaMalloc(&in, sizeof h);
  cudaMalloc(&out, sizeof r);
  cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
  reduce<<<4, 256, 256 * sizeof(float)>>>(in, out, n);
  cudaMemcpy(r, out, sizeof r, cudaMemcpyDeviceToHost);
  printf("%f\n", r[0] + r[1] + r[2] + r[3]);
}
