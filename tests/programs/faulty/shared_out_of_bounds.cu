// expect: memcheck invalid_shared_read
#include <cstdio>
#define BLOCK 64
__global__ void stencil(const int* in, int* out) {
  __shared__ int s[BLOCK + 2];
  int t = threadIdx.x;
  s[t + 1] = in[t];
  if (t == 0) s[0] = 0;
  if (t == 1) s[BLOCK + 1] = 0;
  __syncthreads();
  int sum = 0;
  for (int d = 0; d <= 3; ++d) sum += s[t + d];  // BUG
  out[t] = sum;
}
int main() {
  int *in, *out;
  cudaMalloc(&in, 256);
  cudaMalloc(&out, 256);
  cudaMemset(in, 0, 256);
  stencil<<<1, BLOCK>>>(in, out);
  cudaError_t e = cudaDeviceSynchronize();
  printf("%s\n", cudaGetErrorString(e));
  return e == cudaSuccess;
}
