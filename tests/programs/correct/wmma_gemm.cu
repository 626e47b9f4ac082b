// expect: ok
#include <cstdio>
#include <vector>
#include <mma.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
using namespace nvcuda;
template <class T>
__global__ void wmma_gemm(const T* a, const T* b, float* c, int M, int N, int K, float alpha, float beta) {
  int warpM = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize;
  int warpN = blockIdx.y * blockDim.y + threadIdx.y;
  if (warpM * 16 >= M || warpN * 16 >= N) return;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc, old;
  wmma::fill_fragment(acc, 0.0f);
  for (int k = 0; k < K; k += 16) {
    wmma::load_matrix_sync(fa, a + warpM * 16 * K + k, K);
    wmma::load_matrix_sync(fb, b + warpN * 16 * K + k, K);
    wmma::mma_sync(acc, fa, fb, acc);
  }
  wmma::load_matrix_sync(old, c + warpM * 16 * N + warpN * 16, N, wmma::mem_row_major);
  for (int i = 0; i < old.num_elements; i++) old.x[i] = alpha * acc.x[i] + beta * old.x[i];
  wmma::store_matrix_sync(c + warpM * 16 * N + warpN * 16, old, N, wmma::mem_row_major);
}
template <class T> int trial(T (*make)(float)) {
  const int M = 48, N = 32, K = 64;
  std::vector<T> a(M * K), b(K * N);
  std::vector<float> fa(M * K), fb(K * N), c(M * N), got(M * N);
  for (int i = 0; i < M * K; i++) a[i] = make(fa[i] = (i % 9) - 4);
  for (int i = 0; i < K * N; i++) b[i] = make(fb[i] = (i % 6) * 0.5f - 1);
  for (int i = 0; i < M * N; i++) c[i] = i % 3;
  T *da, *db; float* dc;
  cudaMalloc(&da, a.size() * sizeof(T)); cudaMalloc(&db, b.size() * sizeof(T)); cudaMalloc(&dc, c.size() * 4);
  cudaMemcpy(da, a.data(), a.size() * sizeof(T), cudaMemcpyHostToDevice);
  cudaMemcpy(db, b.data(), b.size() * sizeof(T), cudaMemcpyHostToDevice);
  cudaMemcpy(dc, c.data(), c.size() * 4, cudaMemcpyHostToDevice);
  dim3 block(64, 2), grid((M / 16 + 1) / 2, (N / 16 + 1) / 2);
  wmma_gemm<<<grid, block>>>(da, db, dc, M, N, K, 2.0f, 0.5f);
  cudaMemcpy(got.data(), dc, c.size() * 4, cudaMemcpyDeviceToHost);
  int bad = 0;
  for (int i = 0; i < M; i++) for (int j = 0; j < N; j++) {
    float s = 0;
    for (int k = 0; k < K; k++) s += fa[i * K + k] * fb[j * K + k];
    bad += got[i * N + j] != 2 * s + 0.5f * c[i * N + j];
  }
  return bad;
}
int main() {
  int h = trial<__half>([](float x) { return __float2half(x); });
  int b = trial<__nv_bfloat16>([](float x) { return __float2bfloat16(x); });
  printf("half: %d wrong, bf16: %d wrong\n", h, b);
  return h + b != 0;
}
