// Every element is fetched by way of its neighbour's index too.
#include "../launch.h"

__global__ void gather_double_fetch(const int* index, const float* table, float* y, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 8; ++k) sum += table[index[(i + 37 * k) % n]] * (k == 0 ? 1.0f : 0.0f);
  y[i] = sum;
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  gather_double_fetch<<<n[0] / 256, 256, 0, stream>>>((int*)a[0], (float*)a[1], (float*)a[2], n[0], n[1]);
  return 0;
}
