// Clusters and distributed shared memory: `clusters CASE` runs one case and prints the errors of its launch and its end, and what it left behind.
#include <cooperative_groups.h>
#include <cstdio>
#include <cstring>
#include <cuda/barrier>
namespace cg = cooperative_groups;

constexpr int threads = 64;
struct Case {
  const char* name;
  void (*run)(int*);
  Case* next;
  static Case*& first() {
    static Case* head = nullptr;
    return head;
  }
  Case(const char* n, void (*r)(int*)) : name(n), run(r), next(first()) { first() = this; }
};
#define CASE(name) \
  static void name##_run(int* out); \
  static Case name##_case(#name, name##_run); \
  static void name##_run(int* out)

template <class Kernel>
void launch(Kernel kernel, dim3 grid, dim3 cluster, int* out) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = threads;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = cluster.x, attribute.val.clusterDim.y = cluster.y, attribute.val.clusterDim.z = cluster.z;
  config.attrs = &attribute;
  config.numAttrs = cluster.x ? 1 : 0;
  const int error = cudaLaunchKernelEx(&config, kernel, out);
  std::printf("launch %d sync %d\n", error, (int)cudaDeviceSynchronize());
}

__device__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__global__ void ring(int* out) {
  __shared__ int mine[threads];
  const auto cluster = cg::this_cluster();
  mine[threadIdx.x] = blockIdx.x * 1000 + threadIdx.x;
  cluster.sync();
  const int* other = cluster.map_shared_rank(mine, (cluster.block_rank() + 1) % cluster.num_blocks());
  out[blockIdx.x * threads + threadIdx.x] = other[threads - 1 - threadIdx.x];
  cluster.sync();
}
CASE(ring_of_four) { launch(ring, 8, 4, out); }
CASE(ring_without_clusters) { launch(ring, 4, 0, out); }
CASE(ring_of_eight) { launch(ring, 16, 8, out); }

__global__ void __cluster_dims__(4, 1, 1) histogram(int* out) {
  __shared__ int bins[32];
  const auto cluster = cg::this_cluster();
  if (threadIdx.x < 32) bins[threadIdx.x] = 0;
  cluster.sync();
  for (int k = threadIdx.x; k < 256; k += threads) {
    const int b = (k * 7 + blockIdx.x) % 128;
    atomicAdd(cluster.map_shared_rank(bins, b / 32) + b % 32, 1);
  }
  cluster.sync();
  if (threadIdx.x < 32) out[blockIdx.x * 32 + threadIdx.x] = bins[threadIdx.x];
}
CASE(histogram_by_compile_time_size) { launch(histogram, 8, 0, out); }
CASE(grid_that_is_no_multiple) { launch(histogram, 6, 0, out); }
CASE(another_size_than_at_compile_time) { launch(histogram, 8, 2, out); }
CASE(more_than_eight_blocks) { launch(ring, 16, 16, out); }

__global__ void identity(int* out) {
  const auto cluster = cg::this_cluster();
  unsigned r[12];
  asm("mov.u32 %0, %%clusterid.x;" : "=r"(r[0]));
  asm("mov.u32 %0, %%clusterid.y;" : "=r"(r[1]));
  asm("mov.u32 %0, %%nclusterid.x;" : "=r"(r[2]));
  asm("mov.u32 %0, %%nclusterid.y;" : "=r"(r[3]));
  asm("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(r[4]));
  asm("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(r[5]));
  asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(r[6]));
  asm("mov.u32 %0, %%cluster_nctaid.y;" : "=r"(r[7]));
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r[8]));
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(r[9]));
  asm("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p; }" : "=r"(r[10]));
  r[11] = cluster.thread_rank() + 1000 * cluster.num_threads();
  const int block = blockIdx.x + gridDim.x * blockIdx.y;
  if (threadIdx.x == 5)
    for (int k = 0; k < 12; ++k) out[block * 12 + k] = r[k];
}
CASE(indices) { launch(identity, dim3(4, 4), dim3(2, 2), out); }

__global__ void instructions(int* out) {
  __shared__ int mine[threads];
  __shared__ unsigned long long bar;
  const unsigned rank = cg::this_cluster().block_rank(), other = rank ^ 1, at = shared_address(mine);
  mine[threadIdx.x] = 7;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(&bar)), "r"(2 * threads) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
  unsigned there, whose, value, old, bits;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at + 4 * threadIdx.x), "r"(other));
  asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(whose) : "r"(there));
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(there), "r"(100 * rank + threadIdx.x) : "memory");
  asm volatile("atom.shared::cluster.add.u32 %0, [%1], 1000;" : "=r"(old) : "r"(there) : "memory");
  asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], 1000;" ::"r"(there) : "memory");
  asm volatile("{ .reg .b32 far; mapa.shared::cluster.u32 far, %0, %1; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [far]; }" ::"r"(shared_address(&bar)), "r"(other) : "memory");
  asm volatile("mbarrier.arrive.release.cluster.shared.b64 _, [%0];" ::"r"(shared_address(&bar)) : "memory");
  unsigned done;
  do asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(shared_address(&bar)) : "memory");
  while (!done);
  value = mine[threadIdx.x];
  unsigned long long generic, rank_of;
  asm volatile("mapa.u64 %0, %1, %2;" : "=l"(generic) : "l"(mine), "r"(other));
  asm volatile("{ .reg .b32 r; getctarank.u64 r, %1; cvt.u64.u32 %0, r; }" : "=l"(rank_of) : "l"(generic));
  asm("{ .reg .pred p, q; isspacep.shared::cta p, %1; isspacep.shared::cluster q, %1; selp.u32 %0, 1, 0, p; @q add.u32 %0, %0, 2; }" : "=r"(bits) : "l"(generic));
  out[(blockIdx.x * threads + threadIdx.x) * 2] = value + 100000 * whose + 1000000 * old;
  out[(blockIdx.x * threads + threadIdx.x) * 2 + 1] = rank_of + 10 * bits;
  asm volatile("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}
CASE(forms) { launch(instructions, 4, 2, out); }

__global__ void counted(int* out) {
  __shared__ __align__(16) int mine[threads * 4];
  __shared__ unsigned long long bar;
  const unsigned rank = cg::this_cluster().block_rank(), bar_at = shared_address(&bar);
  for (int k = 0; k < 4; ++k) mine[threadIdx.x * 4 + k] = 0;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1; fence.mbarrier_init.release.cluster;" ::"r"(bar_at) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(bar_at), "r"(threads * 12) : "memory");
  }
  cg::this_cluster().sync();
  asm volatile("{ .reg .b32 far, b; mapa.shared::cluster.u32 far, %0, %2; mapa.shared::cluster.u32 b, %1, %2;"
               "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.s32 [far], {%3, %4}, [b];"
               "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.s32 [far+8], %3, [b]; }" ::"r"(shared_address(mine + 4 * threadIdx.x)), "r"(bar_at),
               "r"(rank ^ 1), "r"(rank * 1000 + threadIdx.x), "r"(-1 - (int)threadIdx.x)
               : "memory");
  unsigned done;
  do asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(bar_at) : "memory");
  while (!done);
  for (int k = 0; k < 3; ++k) out[(blockIdx.x * threads + threadIdx.x) * 3 + k] = mine[threadIdx.x * 4 + k];
  cg::this_cluster().sync();
}
CASE(asynchronous_stores) { launch(counted, 2, 2, out); }

__global__ void split(int* out) {
  __shared__ int mine[threads];
  const auto cluster = cg::this_cluster();
  int sum = 0;
  for (int round = 0; round < 5; ++round) {
    mine[threadIdx.x] = round * 100 + cluster.block_rank();
    const auto token = cluster.barrier_arrive();
    sum += round;
    cluster.barrier_wait(std::move(const_cast<cg::cluster_group::arrival_token&>(token)));
    sum += *cluster.map_shared_rank(mine + threadIdx.x, (cluster.block_rank() + round) % cluster.num_blocks());
    cluster.sync();
  }
  out[blockIdx.x * threads + threadIdx.x] = sum;
}
CASE(split_barrier) { launch(split, 8, 4, out); }

// Faults: what the device says of them.
__global__ void past_the_end(int* out) {
  __shared__ int mine[threads];
  const auto cluster = cg::this_cluster();
  mine[threadIdx.x] = threadIdx.x;
  cluster.sync();
  out[threadIdx.x] = cluster.map_shared_rank(mine, cluster.block_rank() ^ 1)[threadIdx.x + (1 << 18)];
  cluster.sync();
}
CASE(fault_past_the_end) { launch(past_the_end, 2, 2, out); }
__global__ void no_such_rank(int* out) {
  __shared__ int mine[threads];
  mine[threadIdx.x] = threadIdx.x;
  cg::this_cluster().sync();
  int* other;
  asm volatile("mapa.u64 %0, %1, %2;" : "=l"(other) : "l"(mine), "r"(5));
  out[threadIdx.x] = other[threadIdx.x];
  cg::this_cluster().sync();
}
CASE(fault_no_such_rank) { launch(no_such_rank, 2, 2, out); }
__global__ void gone(int* out) {
  __shared__ int mine[threads];
  const auto cluster = cg::this_cluster();
  mine[threadIdx.x] = threadIdx.x;
  cluster.sync();
  if (cluster.block_rank() == 0) return;
  for (int k = 0; k < 1000; ++k) __nanosleep(1000);
  out[threadIdx.x] = cluster.map_shared_rank(mine, 0)[threadIdx.x];
}
CASE(fault_block_gone) { launch(gone, 2, 2, out); }

// Faults that only a check sees.
__global__ void no_barrier(int* out) {
  __shared__ int mine[threads];
  const auto cluster = cg::this_cluster();
  mine[threadIdx.x] = threadIdx.x;
  cluster.sync();
  mine[threadIdx.x] = 5;
  out[blockIdx.x * threads + threadIdx.x] = *cluster.map_shared_rank(mine + threadIdx.x, cluster.block_rank() ^ 1);  // FAULT check_no_barrier shared_race
  cluster.sync();
}
CASE(check_no_barrier) { launch(no_barrier, 2, 2, out); }
__global__ void relaxed_arrival(int* out) {
  __shared__ int mine[threads];
  const auto cluster = cg::this_cluster();
  mine[threadIdx.x] = 0;
  cluster.sync();
  mine[threadIdx.x] = threadIdx.x;
  asm volatile("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  out[blockIdx.x * threads + threadIdx.x] = *cluster.map_shared_rank(mine + threadIdx.x, cluster.block_rank() ^ 1);  // FAULT check_relaxed_arrival shared_race
  cluster.sync();
}
CASE(check_relaxed_arrival) { launch(relaxed_arrival, 2, 2, out); }
__global__ void leaves_early(int* out) {
  __shared__ int mine[threads];
  const auto cluster = cg::this_cluster();
  mine[threadIdx.x] = threadIdx.x;
  cluster.sync();
  if (cluster.block_rank() == 1) out[threadIdx.x] = *cluster.map_shared_rank(mine + threadIdx.x, 0);  // FAULT check_leaves_early shared_race_exit
}
CASE(check_leaves_early) { launch(leaves_early, 2, 2, out); }
__global__ void just_past_the_end(int* out) {
  __shared__ int mine[threads];
  const auto cluster = cg::this_cluster();
  mine[threadIdx.x] = threadIdx.x;
  cluster.sync();
  out[blockIdx.x * threads + threadIdx.x] = cluster.map_shared_rank(mine, cluster.block_rank() ^ 1)[threadIdx.x + 1];  // FAULT check_just_past_the_end invalid_shared_read
  cluster.sync();
}
CASE(check_just_past_the_end) { launch(just_past_the_end, 2, 2, out); }
__global__ void never_written(int* out) {
  __shared__ int mine[threads];
  const auto cluster = cg::this_cluster();
  cluster.sync();
  out[blockIdx.x * threads + threadIdx.x] = *cluster.map_shared_rank(mine + threadIdx.x, cluster.block_rank() ^ 1);  // FAULT check_never_written uninitialized_shared_read
  cluster.sync();
}
CASE(check_never_written) { launch(never_written, 2, 2, out); }

int main(int argc, char** argv) {
  int *out, host[4096] = {};
  cudaMalloc(&out, sizeof host);
  cudaMemset(out, 0, sizeof host);
  for (Case* c = Case::first(); c; c = c->next) {
    if (argc < 2) std::printf("%s\n", c->name);
    else if (std::strcmp(c->name, argv[1]) == 0) {
      c->run(out);
      cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
      unsigned sum = 0;
      for (const int value : host) sum = sum * 31 + (unsigned)value;
      std::printf("%08x", sum);
      for (int k = 0; k < 200; ++k) std::printf(" %x", host[k]);
      std::printf("\n");
    }
  }
}
