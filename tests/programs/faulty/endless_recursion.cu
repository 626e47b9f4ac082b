// expect: memcheck device_fault
// message: recursion is too deep
#include <cstdio>
__device__ __noinline__ int depth(const int* v, int i) {
  int pad[32];
  for (int k = 0; k < 32; k++) pad[k] = v[i] + k;
  return i < 0 ? 0 : 1 + depth(v, (i + pad[i & 31]) % 64) + pad[(i * 7) & 31];
}
__global__ void start(const int* v, int* out) { *out = depth(v, threadIdx.x); }
int main() {
  int *v, *out;
  cudaMalloc(&v, 64 * sizeof(int));
  cudaMemset(v, 0, 64 * sizeof(int));
  cudaMalloc(&out, sizeof(int));
  start<<<1, 1>>>(v, out);
  cudaError_t e = cudaDeviceSynchronize();
  printf("%s\n", cudaGetErrorString(e));
  return e == cudaSuccess;
}
