// 128 x 128 outputs a block of 256 threads, 8 x 8 a thread; loads of 16 bytes.
#include "../launch.h"

constexpr int tile = 128, depth = 8, pad = 4;

__global__ void __launch_bounds__(256) gemm_register8(const float* a, const float* b, float* c, int n) {
  __shared__ __align__(16) float as[depth][tile + pad], bs[depth][tile];
  int t = threadIdx.x, x = t % 16, y = t / 16, row = blockIdx.y * tile, col = blockIdx.x * tile;
  float sum[8][8] = {};
  for (int k0 = 0; k0 < n; k0 += depth) {
    float4 p = *(const float4*)&a[(row + t / 2) * n + k0 + t % 2 * 4];
    as[t % 2 * 4 + 0][t / 2] = p.x;
    as[t % 2 * 4 + 1][t / 2] = p.y;
    as[t % 2 * 4 + 2][t / 2] = p.z;
    as[t % 2 * 4 + 3][t / 2] = p.w;
    *(float4*)&bs[t / 32][t % 32 * 4] = *(const float4*)&b[(k0 + t / 32) * n + col + t % 32 * 4];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < depth; ++k) {
      float u[8], v[8];
      *(float4*)&u[0] = *(float4*)&as[k][y * 8];
      *(float4*)&u[4] = *(float4*)&as[k][y * 8 + 4];
      *(float4*)&v[0] = *(float4*)&bs[k][x * 4];
      *(float4*)&v[4] = *(float4*)&bs[k][64 + x * 4];
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) sum[i][j] += u[i] * v[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < 8; ++i) {
    float* to = &c[(row + y * 8 + i) * n + col + x * 4];
    *(float4*)to = make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
    *(float4*)(to + 64) = make_float4(sum[i][4], sum[i][5], sum[i][6], sum[i][7]);
  }
}

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream) {
  dim3 grid(n[0] / tile, n[0] / tile);
  gemm_register8<<<grid, 256, 0, stream>>>((float*)a[0], (float*)a[1], (float*)a[2], n[0]);
  return 0;
}
