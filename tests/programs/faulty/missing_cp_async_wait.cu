// expect: racecheck missing_async_wait
#include <cstdio>
#include <cuda_pipeline.h>
__global__ void stage(const float* in, float* out) {
  __shared__ float s[128];
  __pipeline_memcpy_async(&s[threadIdx.x], &in[blockIdx.x * 128 + threadIdx.x], sizeof(float));
  __pipeline_commit();
  __syncthreads();
  out[blockIdx.x * 128 + threadIdx.x] = s[127 - threadIdx.x];  // BUG
}
int main() {
  float *in, *out;
  cudaMalloc(&in, 1024);
  cudaMalloc(&out, 1024);
  cudaMemset(in, 0, 1024);
  stage<<<2, 128>>>(in, out);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
