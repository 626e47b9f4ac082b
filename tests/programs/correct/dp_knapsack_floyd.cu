// expect: ok
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <climits>
__global__ void knapsack(const int* prev, int* cur, int weight, int value, int capacity) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c > capacity) return;
  int best = prev[c];
  if (c >= weight) best = max(best, prev[c - weight] + value);
  cur[c] = best;
}
__global__ void floyd(int* dist, int n, int k) {
  int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || j >= n || i == k || j == k) return;
  int through = dist[i * n + k] + dist[k * n + j];
  if (through < dist[i * n + j]) dist[i * n + j] = through;
}
int main() {
  const int items = 12, cap = 100;
  std::vector<int> w(items), v(items), best(cap + 1, 0);
  for (int i = 0; i < items; i++) { w[i] = 5 + i * 7 % 23; v[i] = 10 + i * 13 % 31; for (int c = cap; c >= w[i]; c--) best[c] = std::max(best[c], best[c - w[i]] + v[i]); }
  int *a, *b;
  cudaMalloc(&a, (cap + 1) * sizeof(int)); cudaMalloc(&b, (cap + 1) * sizeof(int));
  cudaMemset(a, 0, (cap + 1) * sizeof(int));
  for (int i = 0; i < items; i++) { knapsack<<<(cap + 32) / 32, 32>>>(a, b, w[i], v[i], cap); std::swap(a, b); }
  int got;
  cudaMemcpy(&got, a + cap, sizeof(int), cudaMemcpyDeviceToHost);
  const int n = 40;
  std::vector<int> d(n * n);
  for (int i = 0; i < n * n; i++) d[i] = i / n == i % n ? 0 : 1 + (i * 2654435761u >> 20) % 1000;
  int* dd; cudaMalloc(&dd, n * n * sizeof(int)); cudaMemcpy(dd, d.data(), n * n * sizeof(int), cudaMemcpyHostToDevice);
  for (int k = 0; k < n; k++) {
    floyd<<<dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(dd, n, k);
    for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) d[i * n + j] = std::min(d[i * n + j], d[i * n + k] + d[k * n + j]);
  }
  std::vector<int> r(n * n);
  cudaMemcpy(r.data(), dd, n * n * sizeof(int), cudaMemcpyDeviceToHost);
  printf("knapsack %d (want %d), floyd %s\n", got, best[cap], r == d ? "ok" : "wrong");
  return got != best[cap] || r != d;
}
