// expect: memcheck invalid_global_read
#include <cstdio>
__global__ void pick(const float* table, float* out, int rows, int stride) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < rows) {
    int index = r * stride * stride;
    out[r] = table[index % 1024];  // BUG
  }
}
int main() {
  float *table, *out;
  cudaMalloc(&table, 1024 * sizeof(float));
  cudaMalloc(&out, 256 * sizeof(float));
  cudaMemset(table, 0, 1024 * sizeof(float));
  pick<<<1, 256>>>(table, out, 256, 4097);
  return cudaDeviceSynchronize() != cudaSuccess;
}
