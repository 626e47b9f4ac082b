// expect: ok
#include <cstdio>
#include <cmath>
struct Lcg {
  unsigned long long s;
  __host__ __device__ explicit Lcg(unsigned seed) : s(seed * 6364136223846793005ull + 1442695040888963407ull) {}
  __host__ __device__ double operator()() { s = s * 6364136223846793005ull + 1442695040888963407ull; return (s >> 11) * (1.0 / 9007199254740992.0); }
};
__global__ void pi(unsigned long long* hits, int samples) {
  Lcg rng(blockIdx.x * blockDim.x + threadIdx.x);
  unsigned mine = 0;
  for (int i = 0; i < samples; i++) { double x = rng(), y = rng(); mine += x * x + y * y <= 1.0; }
  unsigned warp = __reduce_add_sync(0xffffffff, mine);
  if ((threadIdx.x & 31) == 0) atomicAdd(hits, (unsigned long long)warp);
}
int main() {
  const int blocks = 4, threads = 96, samples = 50;
  unsigned long long* hits;
  cudaMallocManaged(&hits, sizeof *hits);
  *hits = 0;
  pi<<<blocks, threads>>>(hits, samples);
  cudaDeviceSynchronize();
  unsigned long long want = 0;
  for (int t = 0; t < blocks * threads; t++) { Lcg r(t); for (int i = 0; i < samples; i++) { double x = r(), y = r(); want += x * x + y * y <= 1.0; } }
  printf("pi ~ %f (%llu hits, host %llu)\n", 4.0 * *hits / (blocks * threads * samples), *hits, want);
  return *hits != want;
}
