// expect: ok
#include <cmath>
#include <cstdio>
#include <vector>
// One block per 16 query rows; keys and values stream through shared memory with a running maximum and sum.
template <int D, int BR, int BC>
__global__ void attention(const float* __restrict__ Q, const float* __restrict__ K, const float* __restrict__ V, float* __restrict__ O, int n, float scale) {
  extern __shared__ float smem[];
  float* sK = smem;
  float* sV = sK + BC * D;
  float* sS = sV + BC * D;
  const int row = blockIdx.x * BR + threadIdx.x;
  float q[D], acc[D];
  float m = -INFINITY, l = 0.f;
#pragma unroll
  for (int d = 0; d < D; ++d) { q[d] = row < n ? Q[row * D + d] : 0.f; acc[d] = 0.f; }
  for (int start = 0; start < n; start += BC) {
    for (int k = threadIdx.x; k < BC * D; k += BR) {
      int r = start + k / D;
      sK[k] = r < n ? K[start * D + k] : 0.f;
      sV[k] = r < n ? V[start * D + k] : 0.f;
    }
    __syncthreads();
    float tile_max = m;
    for (int j = 0; j < BC; ++j) {
      float s = -INFINITY;
      if (start + j < n) {
        s = 0.f;
#pragma unroll
        for (int d = 0; d < D; ++d) s += q[d] * sK[j * D + d];
        s *= scale;
      }
      sS[threadIdx.x * BC + j] = s;
      tile_max = fmaxf(tile_max, s);
    }
    float rescale = expf(m - tile_max);
    l *= rescale;
#pragma unroll
    for (int d = 0; d < D; ++d) acc[d] *= rescale;
    for (int j = 0; j < BC; ++j) {
      float p = expf(sS[threadIdx.x * BC + j] - tile_max);
      l += p;
#pragma unroll
      for (int d = 0; d < D; ++d) acc[d] += p * sV[j * D + d];
    }
    m = tile_max;
    __syncthreads();
  }
  if (row < n)
    for (int d = 0; d < D; ++d) O[row * D + d] = acc[d] / l;
}
int main() {
  const int n = 70, D = 16, BR = 16, BC = 8;
  std::vector<float> q(n * D), k(n * D), v(n * D), o(n * D);
  for (int i = 0; i < n * D; i++) { q[i] = sinf(i); k[i] = cosf(i * 0.7f); v[i] = (i % 11) * 0.1f; }
  float *dq, *dk, *dv, *dout;
  for (float** p : {&dq, &dk, &dv, &dout}) cudaMalloc(p, n * D * sizeof(float));
  cudaMemcpy(dq, q.data(), n * D * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(dk, k.data(), n * D * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(dv, v.data(), n * D * 4, cudaMemcpyHostToDevice);
  size_t smem = (2 * BC * D + BR * BC) * sizeof(float);
  auto kernel = attention<D, BR, BC>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)smem);
  kernel<<<(n + BR - 1) / BR, BR, smem>>>(dq, dk, dv, dout, n, 0.25f);
  cudaMemcpy(o.data(), dout, n * D * 4, cudaMemcpyDeviceToHost);
  double worst = 0;
  for (int i = 0; i < n; i++) {
    std::vector<double> s(n); double sum = 0;
    for (int j = 0; j < n; j++) { double t = 0; for (int d = 0; d < D; d++) t += q[i * D + d] * k[j * D + d]; s[j] = exp(t * 0.25); sum += s[j]; }
    for (int d = 0; d < D; d++) { double t = 0; for (int j = 0; j < n; j++) t += s[j] / sum * v[j * D + d]; worst = fmax(worst, fabs(t - o[i * D + d])); }
  }
  printf("max diff %g\n", worst);
  return !(worst < 1e-5);
}
