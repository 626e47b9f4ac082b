// Each load waits for the one before it.
#include "../launch.h"

__global__ void gather_chained(const int* index, const float* table, float* y, int n, int m) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
  float before = 0;
#pragma unroll 1
  for (int k = 0; k < 4; ++k) {
    int at = index[i + k] + (before > 1e30f);
    y[i + k] = before = table[at];
  }
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  gather_chained<<<n[0] / 1024, 256, 0, stream>>>((int*)a[0], (float*)a[1], (float*)a[2], n[0], n[1]);
  return 0;
}
