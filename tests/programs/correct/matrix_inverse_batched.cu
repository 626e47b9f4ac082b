// expect: ok
// One block inverts one small matrix by Gauss-Jordan with partial pivoting in shared memory.
#include <cmath>
#include <cstdio>
#include <vector>
template <int N>
__global__ void invert(const double* in, double* out, int* singular) {
  __shared__ double m[N][2 * N + 1];
  __shared__ int pivot;
  const int t = threadIdx.x;
  const double* a = in + blockIdx.x * N * N;
  for (int k = t; k < N * N; k += blockDim.x) {
    m[k / N][k % N] = a[k];
    m[k / N][N + k % N] = k / N == k % N ? 1.0 : 0.0;
  }
  __syncthreads();
  for (int c = 0; c < N; ++c) {
    if (t == 0) {
      pivot = c;
      for (int r = c + 1; r < N; ++r)
        if (fabs(m[r][c]) > fabs(m[pivot][c])) pivot = r;
      if (m[pivot][c] == 0.0) atomicAdd(singular, 1);
    }
    __syncthreads();
    const int p = pivot;
    if (p != c && t < 2 * N) { double x = m[c][t]; m[c][t] = m[p][t]; m[p][t] = x; }
    __syncthreads();
    const double d = m[c][c];
    __syncthreads();
    if (t < 2 * N) m[c][t] /= d;
    __syncthreads();
    double factor[N];
#pragma unroll
    for (int r = 0; r < N; ++r) factor[r] = m[r][c];
    __syncthreads();
    if (t < 2 * N)
      for (int r = 0; r < N; ++r)
        if (r != c) m[r][t] -= factor[r] * m[c][t];
    __syncthreads();
  }
  for (int k = t; k < N * N; k += blockDim.x) out[blockIdx.x * N * N + k] = m[k / N][N + k % N];
}
int main() {
  constexpr int N = 6, batch = 9;
  std::vector<double> a(batch * N * N), inv(a.size());
  for (size_t i = 0; i < a.size(); ++i) a[i] = std::cos(i * 1.7) + (i % (N + 1) == 0 ? 0.3 : 0.0);
  double *da, *di; int* bad;
  cudaMalloc(&da, a.size() * 8); cudaMalloc(&di, a.size() * 8); cudaMalloc(&bad, 4); cudaMemset(bad, 0, 4);
  cudaMemcpy(da, a.data(), a.size() * 8, cudaMemcpyHostToDevice);
  invert<N><<<batch, 32>>>(da, di, bad);
  cudaMemcpy(inv.data(), di, a.size() * 8, cudaMemcpyDeviceToHost);
  double worst = 0;
  for (int b = 0; b < batch; ++b)
    for (int r = 0; r < N; ++r)
      for (int c = 0; c < N; ++c) {
        double s = 0;
        for (int k = 0; k < N; ++k) s += a[b * N * N + r * N + k] * inv[b * N * N + k * N + c];
        worst = std::fmax(worst, std::fabs(s - (r == c)));
      }
  printf("|A inv(A) - I| = %.1e\n", worst);
  return !(worst < 1e-8);
}
