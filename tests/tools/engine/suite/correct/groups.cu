// Cooperative groups: tiles, groups made of whoever is there, the whole grid.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include "../suite.cuh"

namespace cg = cooperative_groups;
using suite::Array;

// Tiles of every size reduce and scan; each talks through shuffles only.
template <int size>
__device__ int tile_work(cg::thread_block block, int v) {
  auto tile = cg::tiled_partition<size>(block);
  return cg::reduce(tile, v, cg::plus<int>()) * 3 + cg::exclusive_scan(tile, v) + tile.shfl_xor(v, size / 2) + tile.meta_group_rank();
}
__global__ void tiles_kernel(const int* x, int* y) {
  auto block = cg::this_thread_block();
  const int i = block.thread_rank(), v = x[i];
  y[i] = tile_work<2>(block, v) ^ tile_work<4>(block, v) << 3 ^ tile_work<8>(block, v) << 6 ^ tile_work<16>(block, v) << 9 ^ tile_work<32>(block, v) << 12;
}
CASE(tiles_of_every_size) {
  const Array<int> x(suite::numbers(96, 100)), y(96);
  tiles_kernel<<<1, 96>>>(x, y);
  y.show("y");
}

// A tile wider than a warp synchronises through shared memory.
__global__ void wide_tile_kernel(const int* x, int* y) {
  __shared__ cg::block_tile_memory<256> memory;
  auto block = cg::this_thread_block(memory);
  auto tile = cg::tiled_partition<128>(block);
  const int i = block.thread_rank();
  const int sum = cg::reduce(tile, x[i], cg::plus<int>());
  tile.sync();
  y[i] = sum + tile.shfl(x[i], 77) + tile.any(x[i] == 3);
}
CASE(tile_of_four_warps) {
  const Array<int> x(suite::numbers(256, 50)), y(256);
  wide_tile_kernel<<<1, 256>>>(x, y);
  y.show("y");
}

// Threads that meet in a branch elect a leader who reserves room for all.
__global__ void filter_kernel(const int* x, int* y, unsigned* count, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] % 3 == 0) {
    auto active = cg::coalesced_threads();
    unsigned first = 0;
    if (active.thread_rank() == 0) first = atomicAdd(count, active.size());
    y[active.shfl(first, 0) + active.thread_rank()] = x[i];
  }
}
CASE(coalesced_filter) {
  const auto host = suite::numbers(1000, 1000);
  const Array<int> x(host), y(1000, 0);
  const Array<unsigned> count(1, 0);
  filter_kernel<<<4, 256>>>(x, y, count, 1000);
  std::vector<int> got = y.host();
  const unsigned n = count.host()[0];
  long long sum = 0, wanted = 0;
  for (unsigned i = 0; i < n; ++i) sum += got[i];
  for (const int v : host) wanted += v % 3 == 0 ? v : 0;
  count.show("count");
  suite::expect("sum", sum == wanted);
}

// Lanes with the same key work together, whatever the keys are.
__global__ void labels_kernel(const int* keys, const int* x, int* y) {
  const int i = threadIdx.x;
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  auto mine = cg::labeled_partition(warp, keys[i]);
  auto half = cg::binary_partition(warp, x[i] % 2 == 0);
  y[i] = cg::reduce(mine, x[i], cg::plus<int>()) * 100 + cg::reduce(half, 1, cg::plus<int>());
}
CASE(labeled_partitions) {
  const Array<int> keys(suite::numbers(64, 5, 3)), x(suite::numbers(64, 9, 4)), y(64);
  labels_kernel<<<1, 64>>>(keys, x, y);
  y.show("y");
}

// The grid waits for itself between the phases; the next phase reads what other blocks wrote.
__global__ void phases_kernel(int* a, int* b, int n, int phases) {
  auto grid = cg::this_grid();
  for (int p = 0; p < phases; ++p) {
    for (int i = grid.thread_rank(); i < n; i += grid.size()) b[i] = a[(i + 1) % n] + a[(i + n - 1) % n];
    grid.sync();
    int* t = a;
    a = b;
    b = t;
  }
}
CASE(grid_sync_ping_pong) {
  Array<int> a(suite::numbers(1000, 10)), b(1000);
  int *pa = a, *pb = b, n = 1000, phases = 4;
  void* arguments[] = {&pa, &pb, &n, &phases};
  cudaLaunchCooperativeKernel(reinterpret_cast<void*>(phases_kernel), dim3(6), dim3(64), arguments, 0, nullptr);
  a.show("a");
}

// Half of each tile leaves; the rest goes on with a group of its own.
__global__ void leaving_kernel(const int* x, int* y) {
  const int i = threadIdx.x;
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  if (tile.thread_rank() >= 9) {
    y[i] = -1;
    return;
  }
  auto left = cg::coalesced_threads();
  int sum = x[i];
  for (int step = 1; step < static_cast<int>(left.size()); ++step) sum += left.shfl(x[i], (left.thread_rank() + step) % left.size());
  y[i] = sum;
}
CASE(part_of_a_tile_leaves) {
  const Array<int> x(suite::numbers(64, 50)), y(64);
  leaving_kernel<<<1, 64>>>(x, y);
  y.show("y");
}

// One thread of the block prepares what all use; block-wide reductions of several types.
__global__ void reductions_kernel(const int* x, long long* y) {
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  __shared__ int base;
  __shared__ long long parts[8];
  if (block.thread_rank() == 0) base = x[0] * 2;
  block.sync();
  const int v = x[block.thread_rank()] + base;
  const int least = cg::reduce(warp, v, cg::less<int>()), most = cg::reduce(warp, v, cg::greater<int>());
  const unsigned bits = cg::reduce(warp, static_cast<unsigned>(v), cg::bit_xor<unsigned>());
  const long long wide = cg::reduce(warp, static_cast<long long>(v) << 20, cg::plus<long long>());
  if (warp.thread_rank() == 0) parts[warp.meta_group_rank()] = wide + least + most + bits;
  block.sync();
  if (block.thread_rank() < 8) y[block.thread_rank()] = parts[7 - block.thread_rank()];
}
CASE(reductions_of_several_types) {
  const Array<int> x(suite::numbers(256, 5000));
  const Array<long long> y(8);
  reductions_kernel<<<1, 256>>>(x, y);
  y.show("y");
}

// A cluster of two blocks: each writes into the other's shared memory.
__global__ void __cluster_dims__(2, 1, 1) cluster_kernel(const int* x, int* y) {
  __shared__ int inbox[64];
  auto cluster = cg::this_cluster();
  const int i = threadIdx.x, at = blockIdx.x * 64 + i;
  cluster.sync();
  int* there = cluster.map_shared_rank(inbox, cluster.block_rank() ^ 1);
  there[63 - i] = x[at];
  cluster.sync();
  y[at] = inbox[i];
}
CASE(cluster_exchange) {
  const Array<int> x(suite::numbers(256, 5000)), y(256);
  cluster_kernel<<<4, 64>>>(x, y);
  y.show("y");
}
