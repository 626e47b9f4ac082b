// A row a warp, maximum and sum in one pass.
#include "../launch.h"

__global__ void softmax_online(const float* x, float* y, int m, int k) {
  int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  const float* from = x + (long)row * k;
  float* to = y + (long)row * k;
  float most = -1e30f, sum = 0;
  for (int j = lane; j < k; j += 32) {
    float v = from[j], larger = fmaxf(most, v);
    sum = sum * __expf(most - larger) + __expf(v - larger);
    most = larger;
  }
  for (int d = 16; d; d /= 2) {
    float other = __shfl_xor_sync(~0u, most, d), others = __shfl_xor_sync(~0u, sum, d), larger = fmaxf(most, other);
    sum = sum * __expf(most - larger) + others * __expf(other - larger);
    most = larger;
  }
  float scale = 1 / sum;
  for (int j = lane; j < k; j += 32) to[j] = __expf(from[j] - most) * scale;
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  softmax_online<<<n[0] / 8, 256, 0, stream>>>((float*)a[0], (float*)a[1], n[0], n[1]);
  return 0;
}
