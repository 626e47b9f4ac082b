// expect: memcheck misaligned_global_read
#include <cstdio>
__global__ void copy4(const float* in, float* out, int n, int offset) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
  if (i + 3 < n) {
    float4 v = *reinterpret_cast<const float4*>(in + offset + i);  // BUG
    *reinterpret_cast<float4*>(out + i) = v;  // BUG (nvcc moves the load here)
  }
}
int main() {
  float *in, *out;
  cudaMalloc(&in, 4096);
  cudaMalloc(&out, 4096);
  cudaMemset(in, 0, 4096);
  copy4<<<1, 128>>>(in, out, 512, 1);
  cudaError_t e = cudaDeviceSynchronize();
  printf("%s\n", cudaGetErrorString(e));
  return e == cudaSuccess;
}
