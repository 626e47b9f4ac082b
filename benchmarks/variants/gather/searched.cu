// The index of each element is searched by comparing with 64 candidates: instructions.
#include "../launch.h"

__global__ void gather_searched(const int* index, const float* table, float* y, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, at = index[i];
  int found = 0;
#pragma unroll 1
  for (int b = 0; b < 24; ++b)
    if (found + (1 << (23 - b)) <= at) found += 1 << (23 - b);
  y[i] = table[found];
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  gather_searched<<<n[0] / 256, 256, 0, stream>>>((int*)a[0], (float*)a[1], (float*)a[2], n[0], n[1]);
  return 0;
}
