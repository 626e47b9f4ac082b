// expect: memcheck invalid_global_read
#include <cstdio>
__global__ void blur(const int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n - 1) {
    int sum = 0;
    for (int d = -1; d <= 1; ++d) sum += in[i + d];  // BUG
    out[i] = sum / 3;
  }
}
int main() {
  const int n = 512;
  int *in, *out;
  cudaMalloc(&in, n * sizeof(int));
  cudaMalloc(&out, n * sizeof(int));
  cudaMemset(in, 0, n * sizeof(int));
  blur<<<4, 128>>>(in, out, n);
  return cudaDeviceSynchronize() != cudaSuccess;
}
