// expect: ok
// Least significant digit radix sort, 4 bits a pass: histogram, scan on one block, stable scatter with ballots.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>
const int RADIX = 16, THREADS = 128, WARPS = THREADS / 32;

__global__ void count(const uint32_t* keys, int n, int shift, uint32_t* hist, int blocks) {
  __shared__ uint32_t local[RADIX];
  if (threadIdx.x < RADIX) local[threadIdx.x] = 0;
  __syncthreads();
  int i = blockIdx.x * THREADS + threadIdx.x;
  if (i < n) atomicAdd(&local[(keys[i] >> shift) & (RADIX - 1)], 1);
  __syncthreads();
  if (threadIdx.x < RADIX) hist[threadIdx.x * blocks + blockIdx.x] = local[threadIdx.x];
}

__global__ void scan_serial(uint32_t* hist, int n) {
  uint32_t sum = 0;
  for (int i = 0; i < n; ++i) { uint32_t h = hist[i]; hist[i] = sum; sum += h; }
}

__global__ void scatter(const uint32_t* in, uint32_t* out, int n, int shift, const uint32_t* offsets, int blocks) {
  __shared__ uint32_t per_warp[WARPS][RADIX];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int k = threadIdx.x; k < WARPS * RADIX; k += THREADS) per_warp[k / RADIX][k % RADIX] = 0;
  __syncthreads();
  int i = blockIdx.x * THREADS + threadIdx.x;
  bool valid = i < n;
  uint32_t key = valid ? in[i] : 0xffffffffu;
  uint32_t digit = (key >> shift) & (RADIX - 1);
  unsigned same = __match_any_sync(0xffffffffu, valid ? digit : RADIX);
  int rank = __popc(same & ((1u << lane) - 1));
  if (valid && rank == 0) per_warp[warp][digit] = __popc(same);
  __syncthreads();
  if (valid) {
    uint32_t before = 0;
    for (int w = 0; w < warp; ++w) before += per_warp[w][digit];
    out[offsets[digit * blocks + blockIdx.x] + before + rank] = key;
  }
}

int main() {
  const int n = 1500, blocks = (n + THREADS - 1) / THREADS;
  std::vector<uint32_t> h(n);
  uint64_t s = 88172645463325252ull;
  for (auto& k : h) { s ^= s << 13; s ^= s >> 7; s ^= s << 17; k = (uint32_t)s; }
  uint32_t *a, *b, *hist;
  cudaMalloc(&a, n * 4); cudaMalloc(&b, n * 4); cudaMalloc(&hist, RADIX * blocks * 4);
  cudaMemcpy(a, h.data(), n * 4, cudaMemcpyHostToDevice);
  for (int shift = 0; shift < 32; shift += 4) {
    count<<<blocks, THREADS>>>(a, n, shift, hist, blocks);
    scan_serial<<<1, 1>>>(hist, RADIX * blocks);
    scatter<<<blocks, THREADS>>>(a, b, n, shift, hist, blocks);
    std::swap(a, b);
  }
  std::vector<uint32_t> got(n);
  cudaMemcpy(got.data(), a, n * 4, cudaMemcpyDeviceToHost);
  std::sort(h.begin(), h.end());
  printf("%s\n", got == h ? "OK" : "FAIL");
  return got != h;
}
