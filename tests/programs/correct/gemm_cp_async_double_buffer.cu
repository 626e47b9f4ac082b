// expect: ok
#include <cstdio>
#include <cstdint>
#include <vector>
// 64x64 tiles, 8x4 outputs a thread, 16-byte asynchronous copies into two stages.
constexpr int BM = 64, BN = 64, BK = 16, TM = 8, TN = 4;
__device__ __forceinline__ void cp16(void* dst, const void* src) {
  uint32_t s = static_cast<uint32_t>(__cvta_generic_to_shared(dst));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(s), "l"(src));
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;\n" ::); }
template <int N> __device__ __forceinline__ void wait() { asm volatile("cp.async.wait_group %0;\n" ::"n"(N)); }

__global__ __launch_bounds__(128) void gemm(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int N, int K) {
  __shared__ __align__(16) float a[2][BM][BK];
  __shared__ __align__(16) float b[2][BK][BN];
  const int t = threadIdx.x, tx = t % 16, ty = t / 16;
  const float* Ab = A + blockIdx.y * BM * K;
  const float* Bb = B + blockIdx.x * BN;
  auto load = [&](int stage, int k0) {
#pragma unroll
    for (int p = 0; p < 2; ++p) {
      int v = t + p * 128;
      cp16(&a[stage][v / 4][v % 4 * 4], Ab + (v / 4) * K + k0 + v % 4 * 4);
      cp16(&b[stage][v / 16][v % 16 * 4], Bb + (k0 + v / 16) * N + v % 16 * 4);
    }
    commit();
  };
  float acc[TM][TN] = {};
  load(0, 0);
  for (int k0 = 0, stage = 0; k0 < K; k0 += BK, stage ^= 1) {
    if (k0 + BK < K) {
      load(stage ^ 1, k0 + BK);
      wait<1>();
    } else {
      wait<0>();
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      float ra[TM];
      float4 rb = *reinterpret_cast<const float4*>(&b[stage][k][tx * TN]);
#pragma unroll
      for (int i = 0; i < TM; ++i) ra[i] = a[stage][ty * TM + i][k];
#pragma unroll
      for (int i = 0; i < TM; ++i) {
        acc[i][0] += ra[i] * rb.x; acc[i][1] += ra[i] * rb.y;
        acc[i][2] += ra[i] * rb.z; acc[i][3] += ra[i] * rb.w;
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < TM; ++i)
    *reinterpret_cast<float4*>(&C[(blockIdx.y * BM + ty * TM + i) * N + blockIdx.x * BN + tx * TN]) = make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
}
int main() {
  const int M = 128, N = 64, K = 96;
  std::vector<float> a(M * K), b(K * N), c(M * N);
  for (int i = 0; i < M * K; i++) a[i] = (i % 7) - 3;
  for (int i = 0; i < K * N; i++) b[i] = (i % 5) - 2;
  float *da, *db, *dc;
  cudaMalloc(&da, a.size() * 4); cudaMalloc(&db, b.size() * 4); cudaMalloc(&dc, c.size() * 4);
  cudaMemcpy(da, a.data(), a.size() * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(db, b.data(), b.size() * 4, cudaMemcpyHostToDevice);
  gemm<<<dim3(N / BN, M / BM), 128>>>(da, db, dc, M, N, K);
  cudaMemcpy(c.data(), dc, c.size() * 4, cudaMemcpyDeviceToHost);
  int bad = 0;
  for (int i = 0; i < M; i++) for (int j = 0; j < N; j++) { float s = 0; for (int k = 0; k < K; k++) s += a[i * K + k] * b[k * N + j]; bad += s != c[i * N + j]; }
  printf("%d wrong\n", bad);
  return bad != 0;
}
