// expect: ok
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_) { printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
template <typename T, int ITEMS>
__global__ void saxpby(T* y, const T* __restrict__ x, T a, T b, int n) {
  int base = (blockIdx.x * blockDim.x) * ITEMS + threadIdx.x;
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) { int i = base + k * blockDim.x; if (i < n) y[i] = a * x[i] + b * y[i]; }
}
int main() {
  const int n = 1 << 12, chunks = 4, per = n / chunks;
  float *hx, *hy, *dx, *dy;
  CK(cudaMallocHost(&hx, n * sizeof(float))); CK(cudaHostAlloc(&hy, n * sizeof(float), cudaHostAllocDefault));
  for (int i = 0; i < n; i++) { hx[i] = i; hy[i] = 1; }
  CK(cudaMalloc(&dx, n * sizeof(float))); CK(cudaMalloc(&dy, n * sizeof(float)));
  cudaStream_t s[chunks]; cudaEvent_t done[chunks];
  int low, high; CK(cudaDeviceGetStreamPriorityRange(&low, &high));
  for (int c = 0; c < chunks; c++) {
    CK(cudaStreamCreateWithPriority(&s[c], cudaStreamNonBlocking, c % 2 ? low : high));
    CK(cudaEventCreateWithFlags(&done[c], cudaEventDisableTiming));
    int o = c * per;
    CK(cudaMemcpyAsync(dx + o, hx + o, per * sizeof(float), cudaMemcpyHostToDevice, s[c]));
    CK(cudaMemcpyAsync(dy + o, hy + o, per * sizeof(float), cudaMemcpyHostToDevice, s[c]));
    saxpby<float, 4><<<(per + 511) / 512, 128, 0, s[c]>>>(dy + o, dx + o, 2.f, 3.f, per);
    CK(cudaMemcpyAsync(hy + o, dy + o, per * sizeof(float), cudaMemcpyDeviceToHost, s[c]));
    CK(cudaEventRecord(done[c], s[c]));
    if (c) CK(cudaStreamWaitEvent(s[c], done[c - 1], 0));
  }
  CK(cudaDeviceSynchronize());
  for (int c = 0; c < chunks; c++) { CK(cudaEventQuery(done[c])); CK(cudaStreamQuery(s[c])); CK(cudaEventDestroy(done[c])); CK(cudaStreamDestroy(s[c])); }
  int bad = 0;
  for (int i = 0; i < n; i++) bad += hy[i] != 2.f * i + 3.f;
  float* pooled; cudaStream_t q; CK(cudaStreamCreate(&q));
  CK(cudaMallocAsync(&pooled, 1024, q)); CK(cudaMemsetAsync(pooled, 0, 1024, q)); CK(cudaFreeAsync(pooled, q)); CK(cudaStreamSynchronize(q));
  float* mapped; float* view;
  CK(cudaHostAlloc(&mapped, 256 * sizeof(float), cudaHostAllocMapped)); CK(cudaHostGetDevicePointer(&view, mapped, 0));
  for (int i = 0; i < 256; i++) mapped[i] = 1;
  saxpby<float, 2><<<1, 128>>>(view, dx, 1.f, 1.f, 256);
  CK(cudaDeviceSynchronize());
  for (int i = 0; i < 256; i++) bad += mapped[i] != i + 1.f;
  printf("%d wrong\n", bad);
  CK(cudaFreeHost(hx)); CK(cudaFreeHost(hy)); CK(cudaFreeHost(mapped)); CK(cudaFree(dx)); CK(cudaFree(dy));
  return bad != 0;
}
