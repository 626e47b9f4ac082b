// expect: ok
#include <cstdio>
#include <cstring>
#include <string>
__constant__ char pattern[32];
__global__ void find(const char* text, int n, int m, int* first, int* count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  bool hit = i + m <= n;
  for (int k = 0; hit && k < m; k++) hit = text[i + k] == pattern[k];
  int total = __syncthreads_count(hit);
  if (threadIdx.x == 0 && total) atomicAdd(count, total);
  if (hit) atomicMin(first, i);
}
int main() {
  std::string text;
  for (int i = 0; i < 200; i++) text += i % 9 == 4 ? "needle" : "haystack needl ";
  const char* p = "needle";
  int m = strlen(p), n = text.size(), count = 0, want = 0, first = n;
  for (size_t at = text.find(p); at != std::string::npos; at = text.find(p, at + 1)) want++;
  cudaMemcpyToSymbol(pattern, p, m);
  char* d; int* r; cudaMalloc(&d, n); cudaMalloc(&r, 8);
  cudaMemcpy(d, text.data(), n, cudaMemcpyHostToDevice);
  cudaMemcpy(r, &first, 4, cudaMemcpyHostToDevice); cudaMemset(r + 1, 0, 4);
  find<<<(n + 255) / 256, 256>>>(d, n, m, r, r + 1);
  cudaMemcpy(&first, r, 4, cudaMemcpyDeviceToHost); cudaMemcpy(&count, r + 1, 4, cudaMemcpyDeviceToHost);
  printf("first at %d, %d times (host: %zu, %d)\n", first, count, text.find(p), want);
  return count != want || first != (int)text.find(p);
}
