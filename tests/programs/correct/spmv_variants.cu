// expect: ok
#include <cmath>
#include <cstdio>
#include <vector>
__global__ void csr_scalar(int rows, const int* __restrict__ ptr, const int* __restrict__ col, const double* __restrict__ val, const double* __restrict__ x, double* y) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < rows) {
    double s = 0;
    for (int k = ptr[r]; k < ptr[r + 1]; k++) s += val[k] * __ldg(&x[col[k]]);
    y[r] = s;
  }
}
__global__ void csr_vector(int rows, const int* __restrict__ ptr, const int* __restrict__ col, const double* __restrict__ val, const double* __restrict__ x, double* y) {
  int warp = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize, lane = threadIdx.x & 31;
  if (warp >= rows) return;
  double s = 0;
  for (int k = ptr[warp] + lane; k < ptr[warp + 1]; k += warpSize) s += val[k] * x[col[k]];
  for (int d = 16; d; d >>= 1) s += __shfl_down_sync(0xffffffff, s, d);
  if (lane == 0) y[warp] = s;
}
__global__ void ell(int rows, int width, const int* col, const double* val, const double* x, double* y) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  double s = 0;
  for (int k = 0; k < width; ++k) {
    int c = col[k * rows + r];
    if (c >= 0) s = fma(val[k * rows + r], x[c], s);
  }
  y[r] = s;
}
__global__ void coo(int nnz, const int* row, const int* col, const double* val, const double* x, double* y) {
  for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < nnz; k += gridDim.x * blockDim.x) atomicAdd(&y[row[k]], val[k] * x[col[k]]);
}
template <class T> T* upload(const std::vector<T>& v) {
  T* p; cudaMalloc(&p, v.size() * sizeof(T)); cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice); return p;
}
int main() {
  const int n = 210;
  std::vector<int> ptr{0}, col, row; std::vector<double> val, x(n), want(n, 0.0);
  int width = 0;
  for (int r = 0; r < n; r++) {
    for (int k = 0; k < (r * 5) % 40; k++) { col.push_back((r + k * k) % n); row.push_back(r); val.push_back(1.0 / (1 + k)); }
    ptr.push_back(col.size()); width = std::max(width, ptr[r + 1] - ptr[r]); x[r] = std::sin(r);
  }
  std::vector<int> ecol(width * n, -1); std::vector<double> eval(width * n, 0);
  for (int r = 0; r < n; r++) for (int k = ptr[r]; k < ptr[r + 1]; k++) { want[r] += val[k] * x[col[k]]; ecol[(k - ptr[r]) * n + r] = col[k]; eval[(k - ptr[r]) * n + r] = val[k]; }
  auto *dp = upload(ptr), *dc = upload(col), *dr = upload(row), *dec = upload(ecol); auto *dv = upload(val), *dx = upload(x), *dev = upload(eval);
  double* y; cudaMalloc(&y, n * sizeof(double));
  int bad = 0;
  for (int variant = 0; variant < 4; variant++) {
    cudaMemset(y, 0, n * sizeof(double));
    switch (variant) {
      case 0: csr_scalar<<<(n + 63) / 64, 64>>>(n, dp, dc, dv, dx, y); break;
      case 1: csr_vector<<<(n * 32 + 127) / 128, 128>>>(n, dp, dc, dv, dx, y); break;
      case 2: ell<<<(n + 63) / 64, 64>>>(n, width, dec, dev, dx, y); break;
      default: coo<<<4, 128>>>((int)col.size(), dr, dc, dv, dx, y);
    }
    std::vector<double> got(n);
    cudaMemcpy(got.data(), y, n * sizeof(double), cudaMemcpyDeviceToHost);
    for (int r = 0; r < n; r++) bad += std::fabs(got[r] - want[r]) > 1e-10;
    printf("variant %d: %d wrong so far\n", variant, bad);
  }
  return bad != 0;
}
