// expect: racecheck shared_race
// analyze: missing_barrier
#include <cstdio>
#include <vector>
#define T 16
__global__ void matmul(const float* A, const float* B, float* C, int n) {
  __shared__ float a[T][T], b[T][T];
  int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
  float sum = 0;
  for (int t = 0; t < n / T; t++) {
    a[threadIdx.y][threadIdx.x] = A[row * n + t * T + threadIdx.x];  // BUG
    b[threadIdx.y][threadIdx.x] = B[(t * T + threadIdx.y) * n + col];  // BUG
    __syncthreads();
    for (int k = 0; k < T; k++) sum += a[threadIdx.y][k] * b[k][threadIdx.x];  // BUG
  }
  C[row * n + col] = sum;
}
int main() {
  const int n = 64;
  std::vector<float> h(n * n, 1.f);
  float *a, *b, *c;
  cudaMalloc(&a, n * n * 4);
  cudaMalloc(&b, n * n * 4);
  cudaMalloc(&c, n * n * 4);
  cudaMemcpy(a, h.data(), n * n * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(b, h.data(), n * n * 4, cudaMemcpyHostToDevice);
  matmul<<<dim3(n / T, n / T), dim3(T, T)>>>(a, b, c, n);
  cudaMemcpy(h.data(), c, n * n * 4, cudaMemcpyDeviceToHost);
  printf("%f\n", h[5]);
}
