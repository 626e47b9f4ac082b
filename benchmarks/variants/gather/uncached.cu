// Loads that pass the L1 cache.
#include "../launch.h"

__global__ void gather_uncached(const int* index, const float* table, float* y, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = __ldcg(&table[index[i]]);
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  gather_uncached<<<n[0] / 256, 256, 0, stream>>>((int*)a[0], (float*)a[1], (float*)a[2], n[0], n[1]);
  return 0;
}
