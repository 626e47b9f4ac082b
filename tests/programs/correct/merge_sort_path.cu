// expect: ok
#include <algorithm>
#include <cstdio>
#include <vector>
template <typename T>
__device__ int merge_path(const T* a, int na, const T* b, int nb, int diag) {
  int lo = max(0, diag - nb), hi = min(diag, na);
  while (lo < hi) {
    int mid = (lo + hi) >> 1;
    if (a[mid] <= b[diag - 1 - mid]) lo = mid + 1; else hi = mid;
  }
  return lo;
}
template <typename T, int PER_THREAD>
__global__ void merge_pass(const T* in, T* out, int n, int width) {
  int start = (blockIdx.x * blockDim.x + threadIdx.x) * PER_THREAD;
  if (start >= n) return;
  int pair = start / (2 * width) * (2 * width);
  int mid = min(pair + width, n), end = min(pair + 2 * width, n);
  const T* a = in + pair; const T* b = in + mid;
  int na = mid - pair, nb = end - mid, diag = start - pair;
  int i = merge_path(a, na, b, nb, diag), j = diag - i;
#pragma unroll
  for (int k = 0; k < PER_THREAD; ++k) {
    if (diag + k >= na + nb) break;
    bool take = j >= nb || (i < na && a[i] <= b[j]);
    out[start + k] = take ? a[i++] : b[j++];
  }
}
int main() {
  const int n = 1000;
  std::vector<double> h(n), got(n);
  for (int i = 0; i < n; ++i) h[i] = (i * 7919 % 1009) * 0.25;
  double *x, *y;
  cudaMalloc(&x, n * sizeof(double)); cudaMalloc(&y, n * sizeof(double));
  cudaMemcpy(x, h.data(), n * sizeof(double), cudaMemcpyHostToDevice);
  for (int width = 1; width < n; width *= 2) {
    merge_pass<double, 2><<<(n / 2 + 63) / 64, 64>>>(x, y, n, width);
    std::swap(x, y);
  }
  cudaMemcpy(got.data(), x, n * sizeof(double), cudaMemcpyDeviceToHost);
  std::sort(h.begin(), h.end());
  puts(got == h ? "sorted" : "wrong");
  cudaFree(x); cudaFree(y);
  return got != h;
}
