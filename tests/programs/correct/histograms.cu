// expect: ok
#include <cstdio>
#include <cstring>
#include <vector>
#define BINS 64
__global__ void hist_global(const unsigned char* d, int n, unsigned* h) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(h + d[i] % BINS, 1u);
}
__global__ void hist_shared(const unsigned char* d, int n, unsigned* h) {
  __shared__ unsigned s[BINS];
  for (int b = threadIdx.x; b < BINS; b += blockDim.x) s[b] = 0;
  __syncthreads();
  const uchar4* v = reinterpret_cast<const uchar4*>(d);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) {
    uchar4 q = v[i];
    atomicAdd(&s[q.x % BINS], 1u); atomicAdd(&s[q.y % BINS], 1u); atomicAdd(&s[q.z % BINS], 1u); atomicAdd(&s[q.w % BINS], 1u);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < BINS; b += blockDim.x) if (s[b]) atomicAdd(&h[b], s[b]);
}
__global__ void hist_private(const unsigned char* d, int n, unsigned* h) {
  __shared__ unsigned short s[BINS][64];
  for (int b = 0; b < BINS; b++) s[b][threadIdx.x] = 0;
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) s[d[i] % BINS][threadIdx.x]++;
  __syncthreads();
  unsigned sum = 0;
  for (int k = 0; k < 64; k++) sum += s[threadIdx.x][(k + threadIdx.x) % 64];
  atomicAdd(&h[threadIdx.x], sum);
}
__global__ void hist_aggregated(const unsigned char* d, int n, unsigned* h) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    int bin = d[i] % BINS;
    unsigned peers = __match_any_sync(__activemask(), bin);
    if ((threadIdx.x & 31) == __ffs(peers) - 1) atomicAdd(&h[bin], __popc(peers));
  }
}
int main() {
  const int n = 4096;
  std::vector<unsigned char> h(n);
  unsigned want[BINS] = {}, got[BINS];
  for (int i = 0; i < n; i++) { h[i] = (i * i) >> 3; want[h[i] % BINS]++; }
  unsigned char* d; unsigned* bins;
  cudaMalloc(&d, n); cudaMalloc(&bins, sizeof want);
  cudaMemcpy(d, h.data(), n, cudaMemcpyHostToDevice);
  int bad = 0;
  for (int k = 0; k < 4; k++) {
    cudaMemset(bins, 0, sizeof want);
    if (k == 0) hist_global<<<4, 128>>>(d, n, bins);
    if (k == 1) hist_shared<<<4, 128>>>(d, n, bins);
    if (k == 2) hist_private<<<4, 64>>>(d, n, bins);
    if (k == 3) hist_aggregated<<<n / 128, 128>>>(d, n, bins);
    cudaMemcpy(got, bins, sizeof got, cudaMemcpyDeviceToHost);
    int wrong = memcmp(got, want, sizeof got) != 0;
    printf("variant %d %s\n", k, wrong ? "wrong" : "ok");
    bad += wrong;
  }
  return bad;
}
