// expect: ok
// also: invalid_launch invalid_copy api_error
#include <cstdio>
#include <cuda_runtime.h>
__global__ void fill(int* p, int v) { p[threadIdx.x] = v; }
int main() {
  int devices = 0, version = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices < 1) return 1;
  cudaRuntimeGetVersion(&version);
  int* d;
  if (cudaMalloc(&d, 64 * sizeof(int))) return 2;
  fill<<<1, 2048>>>(d, 1);
  cudaError_t e = cudaGetLastError();
  printf("%s: %s\n", cudaGetErrorName(e), cudaGetErrorString(e));
  if (e != cudaErrorInvalidValue) return 3;
  if (cudaGetLastError() != cudaSuccess) return 4;
  fill<<<1, 64, 1 << 20>>>(d, 1);
  if (cudaGetLastError() == cudaSuccess) return 5;
  fill<<<0, 64>>>(d, 1);
  if (cudaGetLastError() == cudaSuccess) return 6;
  void* huge = nullptr;
  if (cudaMalloc(&huge, (size_t)1 << 50) != cudaErrorMemoryAllocation) return 7;
  if (cudaGetLastError() != cudaErrorMemoryAllocation) return 8;
  if (cudaMemcpy(nullptr, d, 16, cudaMemcpyDeviceToHost) == cudaSuccess) return 9;
  cudaGetLastError();
  if (cudaSetDevice(devices) != cudaErrorInvalidDevice) return 10;
  cudaGetLastError();
  int peer = -1;
  if (cudaDeviceCanAccessPeer(&peer, 0, 0) == cudaSuccess && peer != 0) return 14;
  cudaGetLastError();
  fill<<<1, 64>>>(d, 7);
  int h[64];
  if (cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost)) return 11;
  cudaPointerAttributes at;
  if (cudaPointerGetAttributes(&at, d) || at.type != cudaMemoryTypeDevice) return 12;
  for (int v : h) if (v != 7) return 13;
  return cudaFree(d);
}
