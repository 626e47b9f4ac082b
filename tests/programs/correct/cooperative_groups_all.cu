// expect: ok
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cstdio>
#include <vector>
namespace cg = cooperative_groups;
__device__ double partials[64];
__global__ void grid_reduce(const float* x, double* out, int n) {
  cg::grid_group grid = cg::this_grid();
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
  __shared__ double s[8];
  double v = 0;
  for (unsigned i = grid.thread_rank(); i < n; i += grid.size()) v += x[i];
  v = cg::reduce(warp, v, cg::plus<double>());
  if (warp.thread_rank() == 0) s[warp.meta_group_rank()] = v;
  block.sync();
  if (block.thread_rank() == 0) {
    double t = 0;
    for (unsigned w = 0; w < warp.meta_group_size(); w++) t += s[w];
    partials[blockIdx.x] = t;
  }
  grid.sync();
  if (grid.thread_rank() == 0) {
    double t = 0;
    for (unsigned b = 0; b < gridDim.x; b++) t += partials[b];
    *out = t;
  }
}
__global__ void compact_even(const int* x, int* out, int* count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] % 2 == 0) {
    cg::coalesced_group active = cg::coalesced_threads();
    int base;
    if (active.thread_rank() == 0) base = atomicAdd(count, active.size());
    base = active.shfl(base, 0);
    out[base + active.thread_rank()] = x[i];
  }
}
__global__ void tile_scans(int* out) {
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  int v = threadIdx.x;
  out[threadIdx.x] = cg::inclusive_scan(tile, v, cg::plus<int>()) + (tile.any(v == 9) ? 1000 : 0);
}
int main() {
  const int n = 4001;
  std::vector<float> h(n); double want = 0;
  for (int i = 0; i < n; i++) { h[i] = i * 0.125f; want += h[i]; }
  float* d; double *out, got;
  cudaMalloc(&d, n * 4); cudaMalloc(&out, 8);
  cudaMemcpy(d, h.data(), n * 4, cudaMemcpyHostToDevice);
  int coop = 0, per_sm = 0;
  cudaDeviceGetAttribute(&coop, cudaDevAttrCooperativeLaunch, 0);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, grid_reduce, 128, 0);
  if (!coop || per_sm < 1) return 4;
  int nn = n; void* args[] = {&d, &out, &nn};
  cudaError_t e = cudaLaunchCooperativeKernel((void*)grid_reduce, dim3(6), dim3(128), args);
  if (e != cudaSuccess) { puts(cudaGetErrorString(e)); return 5; }
  cudaMemcpy(&got, out, 8, cudaMemcpyDeviceToHost);
  std::vector<int> x(n); for (int i = 0; i < n; i++) x[i] = i * 7 % 10;
  int *dx, *dy, *dc, c;
  cudaMalloc(&dx, n * 4); cudaMalloc(&dy, n * 4); cudaMalloc(&dc, 4); cudaMemset(dc, 0, 4);
  cudaMemcpy(dx, x.data(), n * 4, cudaMemcpyHostToDevice);
  compact_even<<<(n + 127) / 128, 128>>>(dx, dy, dc, n);
  cudaMemcpy(&c, dc, 4, cudaMemcpyDeviceToHost);
  int even = 0; for (int v : x) even += v % 2 == 0;
  std::vector<int> y(c); cudaMemcpy(y.data(), dy, c * 4, cudaMemcpyDeviceToHost);
  bool ok = c == even; for (int v : y) ok = ok && v % 2 == 0;
  int t[32], *dt; cudaMalloc(&dt, sizeof t);
  tile_scans<<<1, 32>>>(dt);
  cudaMemcpy(t, dt, sizeof t, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 32; i++) { int s = 0; for (int j = i / 8 * 8; j <= i; j++) s += j; ok = ok && t[i] == s + (i / 8 == 1 ? 1000 : 0); }
  printf("sum %.3f (want %.3f), compaction %s\n", got, want, ok ? "ok" : "wrong");
  return got != want || !ok;
}
