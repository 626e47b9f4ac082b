// expect: ok
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void bitonic_global(float* v, int j, int k) {
  unsigned i = threadIdx.x + blockDim.x * blockIdx.x;
  unsigned ixj = i ^ j;
  if (ixj > i) {
    bool up = (i & k) == 0;
    if ((v[i] > v[ixj]) == up) {
      float t = v[i]; v[i] = v[ixj]; v[ixj] = t;
    }
  }
}

__global__ void bitonic_shared(float* v, int k, int j0) {
  __shared__ float s[256];
  unsigned t = threadIdx.x, i = t + blockDim.x * blockIdx.x;
  s[t] = v[i];
  __syncthreads();
  for (int j = j0; j > 0; j >>= 1) {
    unsigned o = t ^ j;
    if (o > t) {
      bool up = (i & k) == 0;
      float a = s[t], b = s[o];
      if ((a > b) == up) { s[t] = b; s[o] = a; }
    }
    __syncthreads();
  }
  v[i] = s[t];
}

int main() {
  const int n = 2048;
  std::vector<float> h(n);
  srand(3);
  for (auto& x : h) x = rand() / (float)RAND_MAX - 0.5f;
  float* d;
  cudaMalloc(&d, n * sizeof(float));
  cudaMemcpy(d, h.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  for (int k = 2; k <= n; k <<= 1) {
    int j = k >> 1;
    for (; j >= 256; j >>= 1) bitonic_global<<<n / 256, 256>>>(d, j, k);
    bitonic_shared<<<n / 256, 256>>>(d, k, j);
  }
  std::vector<float> got(n);
  cudaMemcpy(got.data(), d, n * sizeof(float), cudaMemcpyDeviceToHost);
  std::sort(h.begin(), h.end());
  printf("%s\n", got == h ? "sorted" : "NOT SORTED");
  cudaFree(d);
  return got != h;
}
