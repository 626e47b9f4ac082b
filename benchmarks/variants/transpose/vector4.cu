// A tile of 64 x 64, 16 bytes a lane on both sides.
#include "../launch.h"

__global__ void transpose_vector4(const float* x, float* y, int n) {
  __shared__ float tile[64][65];
  int i = threadIdx.x * 4, from = blockIdx.x * 64, to = blockIdx.y * 64;
#pragma unroll
  for (int j = threadIdx.y; j < 64; j += 16) {
    float4 v = *(const float4*)&x[(to + j) * n + from + i];
    tile[j][i] = v.x;
    tile[j][i + 1] = v.y;
    tile[j][i + 2] = v.z;
    tile[j][i + 3] = v.w;
  }
  __syncthreads();
#pragma unroll
  for (int j = threadIdx.y; j < 64; j += 16)
    *(float4*)&y[(from + j) * n + to + i] = make_float4(tile[i][j], tile[i + 1][j], tile[i + 2][j], tile[i + 3][j]);
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  dim3 block(16, 16), grid(n[0] / 64, n[0] / 64);
  transpose_vector4<<<grid, block, 0, stream>>>((float*)a[0], (float*)a[1], n[0]);
  return 0;
}
