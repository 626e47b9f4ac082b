// expect: initcheck uninitialized_shared_read
#include <cstdio>
__global__ void count(const int* v, int* out, int n) {
  __shared__ int bins[16];
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&bins[v[i] & 15], 1);  // BUG
  __syncthreads();
  if (threadIdx.x < 16) out[threadIdx.x] = bins[threadIdx.x];
}
int main() {
  int h[200], *v, *out;
  for (int i = 0; i < 200; i++) h[i] = i;
  cudaMalloc(&v, sizeof h);
  cudaMalloc(&out, 64);
  cudaMemcpy(v, h, sizeof h, cudaMemcpyHostToDevice);
  count<<<1, 64>>>(v, out, 200);
  cudaMemcpy(h, out, 64, cudaMemcpyDeviceToHost);
  printf("%d\n", h[0]);
}
