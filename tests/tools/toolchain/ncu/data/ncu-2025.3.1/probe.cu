#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <iostream>
#include <cuda_runtime.h>
#include <cuda_profiler_api.h>
#include <mma.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"CUDA error %s at %d\n",cudaGetErrorString(e),__LINE__); exit(2);} }while(0)
__global__ void stream_add(const float4* a, const float4* b, float4* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { float4 x = a[i], y = b[i]; c[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w); }
}
__global__ void strided_copy(const float* a, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int j = (int)(((long)i * 1027) % n);
  c[j] = a[j] * 2.0f;
}
__global__ void transpose_conflict(const float* a, float* c, int n) {
  __shared__ float t[32][32];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8) t[threadIdx.y + k][threadIdx.x] = a[(y + k) * n + x];
  __syncthreads();
  int u = blockIdx.y * 32 + threadIdx.x, v = blockIdx.x * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8) c[(v + k) * n + u] = t[threadIdx.x][threadIdx.y + k];
}
__global__ void fma_bound(float* c, float s) {
  float x[8];
  for (int k = 0; k < 8; k++) x[k] = threadIdx.x + k;
  for (int r = 0; r < 512; r++)
#pragma unroll
    for (int k = 0; k < 8; k++) x[k] = x[k] * s + 0.5f;
  float t = 0;
  for (int k = 0; k < 8; k++) t += x[k];
  c[blockIdx.x * blockDim.x + threadIdx.x] = t;
}
__global__ void histogram_atomics(const float* a, int* bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[(int)(a[i] * 7.9f) & 7], 1);
}
__global__ void wmma_gemm(const half* a, const half* b, float* c, int n) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, half, row_major> fa;
  fragment<matrix_b, 16, 16, 16, half, row_major> fb;
  fragment<accumulator, 16, 16, 16, float> fc;
  int i = blockIdx.y * 16, j = (blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32) * 16;
  fill_fragment(fc, 0.0f);
  for (int k = 0; k < n; k += 16) {
    load_matrix_sync(fa, a + i * n + k, n);
    load_matrix_sync(fb, b + k * n + j, n);
    mma_sync(fc, fa, fb, fc);
  }
  store_matrix_sync(c + i * n + j, fc, n, mem_row_major);
}
__global__ void __launch_bounds__(1024, 2) spilling(const float* a, float* c, int n, int m) {
  float x[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < 64; k++) x[k] = a[(i + k * 977) % n];
  for (int r = 0; r < m; r++)
#pragma unroll
    for (int k = 0; k < 64; k++) x[k] = x[k] * x[(k * 7 + 3) & 63] + x[(k * 13 + 1) & 63];
  float t = 0;
  for (int k = 0; k < 64; k++) t += x[k];
  c[i % n] = t;
}
__global__ void divergent(const float* a, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = a[i % n];
  int r = (threadIdx.x % 32) * 4;
  for (int k = 0; k < r; k++) x = x * 1.0001f + sinf(x);
  c[i % n] = x;
}
__global__ void double_axpy(const float* a, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double x = a[i % n];
  for (int k = 0; k < 32; k++) x = x * 1.000001 + 0.3;
  c[i % n] = (float)x;
}
int main(int argc, char** argv) {
  std::string mode = argc > 1 ? argv[1] : "all";
  if (mode == "nokernel") { printf("no kernels\n"); return 0; }
  if (mode == "crash") { volatile int* p = nullptr; *p = 1; }
  int n = 1 << 20;  // 4 MiB of float
  if (mode == "stdin") { std::string line; if (!std::getline(std::cin, line)) { fprintf(stderr, "no stdin\n"); return 4; } n = atoi(line.c_str()); printf("read %d\n", n); }
  float *a, *b, *c; int* bins;
  size_t big = mode == "all" || mode == "one" ? (size_t)64 << 20 : (size_t)4 << 20;
  CK(cudaMalloc(&a, big)); CK(cudaMalloc(&b, big)); CK(cudaMalloc(&c, big)); CK(cudaMalloc(&bins, 32));
  CK(cudaMemset(a, 0, big)); CK(cudaMemset(b, 0, big)); CK(cudaMemset(bins, 0, 32));
  if (mode == "hang") { for (;;) { stream_add<<<1, 32>>>((float4*)a, (float4*)b, (float4*)c, 1); CK(cudaDeviceSynchronize()); } }
  if (mode == "range") {
    divergent<<<16, 256>>>(a, c, n);
    CK(cudaProfilerStart());
    stream_add<<<256, 256>>>((float4*)a, (float4*)b, (float4*)c, 1 << 16);
    CK(cudaProfilerStop());
    fma_bound<<<16, 256>>>(c, 0.5f);
    CK(cudaDeviceSynchronize());
    return 0;
  }
  if (mode == "stdin" || mode == "exit3" || mode == "small") {
    for (int r = 0; r < 3; r++) stream_add<<<256, 256>>>((float4*)a, (float4*)b, (float4*)c, 1 << 16);
    fma_bound<<<16, 256>>>(c, 0.5f);
    CK(cudaDeviceSynchronize());
    return mode == "exit3" ? 3 : 0;
  }
  int q = (int)(big / 16);
  stream_add<<<q / 256, 256>>>((float4*)a, (float4*)b, (float4*)c, q);
  if (mode == "one") { CK(cudaDeviceSynchronize()); return 0; }
  strided_copy<<<n / 256, 256>>>(a, c, n);
  transpose_conflict<<<dim3(64, 64), dim3(32, 8)>>>(a, c, 2048);
  fma_bound<<<132 * 8, 256>>>(c, 0.5f);
  histogram_atomics<<<n / 256, 256>>>(a, bins, n);
  wmma_gemm<<<dim3(16, 64), 128>>>((half*)a, (half*)b, c, 1024);
  spilling<<<132, 1024>>>(a, c, n, 4);
  divergent<<<132 * 4, 256>>>(a, c, n);
  double_axpy<<<132 * 8, 256>>>(a, c, n);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  return 0;
}
