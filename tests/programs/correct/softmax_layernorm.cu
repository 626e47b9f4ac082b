// expect: ok
// flags: -use_fast_math
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <vector>
struct MD { float m, d; };
__device__ __forceinline__ MD combine(MD a, MD b) {
  bool a_big = a.m > b.m;
  MD big = a_big ? a : b, small = a_big ? b : a;
  return {big.m, big.d + small.d * __expf(small.m - big.m)};
}
__global__ void online_softmax(const float* __restrict__ x, float* __restrict__ y, int cols) {
  x += (size_t)blockIdx.x * cols; y += (size_t)blockIdx.x * cols;
  MD p{-FLT_MAX, 0.f};
  for (int c = threadIdx.x; c < cols; c += blockDim.x) p = combine(p, MD{x[c], 1.f});
  for (int o = 16; o > 0; o /= 2) {
    MD q{__shfl_xor_sync(~0u, p.m, o), __shfl_xor_sync(~0u, p.d, o)};
    p = combine(p, q);
  }
  __shared__ MD parts[32];
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = p;
  __syncthreads();
  MD total = parts[0];
  for (int w = 1; w < (blockDim.x + 31) / 32; ++w) total = combine(total, parts[w]);
  float inv = __fdividef(1.f, total.d);
  for (int c = threadIdx.x; c < cols; c += blockDim.x) y[c] = __expf(x[c] - total.m) * inv;
}
__inline__ __device__ float warpReduceSum(float val) {
  for (int mask = 16; mask > 0; mask >>= 1) val += __shfl_xor_sync(0xffffffff, val, mask, 32);
  return val;
}
__inline__ __device__ float blockReduceSum(float val) {
  static __shared__ float shared[32];
  int lane = threadIdx.x & 0x1f, wid = threadIdx.x >> 5;
  val = warpReduceSum(val);
  __syncthreads();
  if (lane == 0) shared[wid] = val;
  __syncthreads();
  val = (threadIdx.x < blockDim.x / 32.f) ? shared[lane] : 0.f;
  return warpReduceSum(val);
}
__global__ void layernorm(const float* x, const float* gamma, const float* beta, float* y, int cols, float eps) {
  __shared__ float s_mean, s_inv;
  const float* row = x + blockIdx.x * cols;
  float sum = 0.f;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) sum += row[i];
  sum = blockReduceSum(sum);
  if (threadIdx.x == 0) s_mean = sum / cols;
  __syncthreads();
  float var = 0.f;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) { float d = row[i] - s_mean; var += d * d; }
  var = blockReduceSum(var);
  if (threadIdx.x == 0) s_inv = rsqrtf(var / cols + eps);
  __syncthreads();
  for (int i = threadIdx.x; i < cols; i += blockDim.x) y[blockIdx.x * cols + i] = (row[i] - s_mean) * s_inv * gamma[i] + beta[i];
}
int main() {
  const int rows = 5, cols = 333;
  std::vector<float> h(rows * cols), g(cols, 1.5f), b(cols, -0.25f), s(rows * cols), l(rows * cols);
  for (int i = 0; i < rows * cols; ++i) h[i] = 8.f * std::sin(i * 0.37f);
  float *x, *y, *dg, *db;
  cudaMalloc(&x, h.size() * 4); cudaMalloc(&y, h.size() * 4); cudaMalloc(&dg, cols * 4); cudaMalloc(&db, cols * 4);
  cudaMemcpy(x, h.data(), h.size() * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(dg, g.data(), cols * 4, cudaMemcpyHostToDevice); cudaMemcpy(db, b.data(), cols * 4, cudaMemcpyHostToDevice);
  online_softmax<<<rows, 128>>>(x, y, cols);
  cudaMemcpy(s.data(), y, h.size() * 4, cudaMemcpyDeviceToHost);
  layernorm<<<rows, 128>>>(x, dg, db, y, cols, 1e-5f);
  cudaMemcpy(l.data(), y, h.size() * 4, cudaMemcpyDeviceToHost);
  double worst = 0;
  for (int r = 0; r < rows; ++r) {
    double m = -1e30, sum = 0, mean = 0, var = 0;
    for (int c = 0; c < cols; ++c) { m = std::fmax(m, h[r * cols + c]); mean += h[r * cols + c] / cols; }
    for (int c = 0; c < cols; ++c) { sum += std::exp(h[r * cols + c] - m); var += std::pow(h[r * cols + c] - mean, 2) / cols; }
    for (int c = 0; c < cols; ++c) {
      worst = std::fmax(worst, std::fabs(s[r * cols + c] - std::exp(h[r * cols + c] - m) / sum) * 100);
      worst = std::fmax(worst, std::fabs(l[r * cols + c] - ((h[r * cols + c] - mean) / std::sqrt(var + 1e-5) * 1.5 - 0.25)));
    }
  }
  printf("worst %.2e\n", worst);
  return worst > 1e-3;
}
