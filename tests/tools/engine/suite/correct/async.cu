// Asynchronous copies and split barriers: pipelines, cp.async groups, mbarriers with phases.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>

#include "../suite.cuh"

#pragma nv_diag_suppress 20054  // barriers are initialised by their users

namespace cg = cooperative_groups;
using suite::Array;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

// Three stages in flight in a block-wide pipeline.
__global__ void stages_kernel(const int* x, int* y, int tiles) {
  constexpr int stages = 3;
  __shared__ alignas(16) int room[stages][64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  int sum = 0;
  for (int use = 0, fetch = 0; use < tiles; ++use) {
    for (; fetch < tiles && fetch < use + stages; ++fetch) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, room[fetch % stages], x + fetch * 64, cuda::aligned_size_t<16>(256), pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum = sum * 3 + room[use % stages][63 - threadIdx.x];
    pipe.consumer_release();
  }
  y[threadIdx.x] = sum;
}
CASE(pipeline_of_three_stages) {
  const Array<int> x(suite::numbers(64 * 7, 100)), y(64);
  stages_kernel<<<1, 64>>>(x, y, 7);
  y.show("y");
}

// Some warps only produce, the others only consume.
__global__ void roles_kernel(const int* x, int* y, int tiles) {
  constexpr int stages = 2;
  __shared__ int room[stages][64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
  auto block = cg::this_thread_block();
  const auto role = threadIdx.x < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
  auto pipe = cuda::make_pipeline(block, &state, role);
  int sum = 0;
  if (role == cuda::pipeline_role::producer) {
    for (int t = 0; t < tiles; ++t) {
      pipe.producer_acquire();
      for (int i = threadIdx.x; i < 64; i += 32) cuda::memcpy_async(&room[t % stages][i], &x[t * 64 + i], sizeof(int), pipe);
      pipe.producer_commit();
    }
  } else {
    const int i = threadIdx.x - 32;
    for (int t = 0; t < tiles; ++t) {
      pipe.consumer_wait();
      sum = sum * 5 + room[t % stages][63 - i];
      pipe.consumer_release();
    }
    y[i] = sum;
  }
}
CASE(pipeline_with_roles) {
  const Array<int> x(suite::numbers(64 * 5, 100)), y(64);
  roles_kernel<<<1, 96>>>(x, y, 5);
  y.show("y");
}

// Groups of cp.async by hand, double buffered, 16 bytes a thread.
__device__ unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__global__ void groups_kernel(const int4* x, int* y, int tiles) {
  __shared__ int4 room[2][32];
  const int i = threadIdx.x;
  const auto fetch = [&](int t) {
    if (t < tiles) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(&room[t % 2][i])), "l"(x + t * 32 + i) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  int sum = 0;
  fetch(0);
  for (int t = 0; t < tiles; ++t) {
    fetch(t + 1);
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncwarp();
    const int4 v = room[t % 2][31 - i];
    sum = sum * 7 + v.x + v.y * 2 + v.z * 3 + v.w;
    __syncwarp();
  }
  y[i] = sum;
}
CASE(cp_async_groups_in_a_warp) {
  const auto host = suite::numbers(128 * 6, 50);
  const Array<int> x(host), y(32);
  groups_kernel<<<1, 32>>>(reinterpret_cast<const int4*>(x.get()), y, 6);
  y.show("y");
}

// A short source is filled with zeros; ignored sources leave zeros too.
__global__ void ragged_kernel(const int* x, int* y, int n) {
  __shared__ __align__(16) int room[128];
  const int i = threadIdx.x, left = max(0, min(4, n - 4 * i));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(room + 4 * i)), "l"(x + (left ? 4 * i : 0)), "r"(4 * left) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  for (int k = 0; k < 4; ++k) y[k * 32 + i] = room[127 - (k * 32 + i)];
}
CASE(cp_async_fills_with_zeros) {
  const Array<int> x(suite::numbers(101, 1000)), y(128);
  ragged_kernel<<<1, 32>>>(x, y, 101);
  y.show("y");
}

// Producers and consumers hand a buffer over with two barriers, split into arrive and wait.
__global__ void handover_kernel(const int* x, int* y, int rounds) {
  __shared__ Barrier full, empty;
  __shared__ int room[32];
  if (threadIdx.x == 0) init(&full, 64), init(&empty, 64);
  __syncthreads();
  const int i = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    for (int r = 0; r < rounds; ++r) {
      empty.arrive_and_wait();
      room[i] = x[r * 32 + i];
      (void)full.arrive();
    }
  } else {
    int sum = 0;
    (void)empty.arrive();
    for (int r = 0; r < rounds; ++r) {
      full.arrive_and_wait();
      sum = sum * 3 + room[31 - i];
      (void)empty.arrive();
    }
    y[i] = sum;
  }
}
CASE(barriers_full_and_empty) {
  const Array<int> x(suite::numbers(32 * 9, 100)), y(32);
  handover_kernel<<<1, 64>>>(x, y, 9);
  y.show("y");
}

// Work of its own between arriving and waiting.
__global__ void overlapped_kernel(const int* x, int* y, int rounds) {
  __shared__ Barrier barrier;
  __shared__ int room[2][128];
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  const int i = threadIdx.x;
  int own = x[i], sum = 0;
  for (int r = 0; r < rounds; ++r) {
    room[r % 2][i] = own;
    auto token = barrier.arrive();
    for (int k = 0; k < 5; ++k) own = own * 5 + k;
    barrier.wait(std::move(token));
    sum += room[r % 2][(i + 37) % 128];
  }
  y[i] = sum;
}
CASE(barrier_arrive_then_wait) {
  const Array<int> x(suite::numbers(128, 100)), y(128);
  overlapped_kernel<<<1, 128>>>(x, y, 6);
  y.show("y");
}

// A copy that completes on a barrier, waited for by parity.
__global__ void copy_barrier_kernel(const int* x, int* y) {
  __shared__ int room[256];
  __shared__ Barrier barrier;
  auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&barrier, block.size());
  block.sync();
  for (int half = 0; half < 2; ++half) {
    for (int i = threadIdx.x; i < 256; i += 64) cuda::memcpy_async(&room[i], &x[half * 256 + i], sizeof(int), barrier);
    barrier.arrive_and_wait();
    y[half * 64 + threadIdx.x] = room[255 - threadIdx.x] + room[threadIdx.x * 4 % 256];
    block.sync();
  }
}
CASE(copy_completes_on_a_barrier) {
  const Array<int> x(suite::numbers(512, 100)), y(128);
  copy_barrier_kernel<<<1, 64>>>(x, y);
  y.show("y");
}

// Threads drop out of a barrier one by one; the rest go on.
__global__ void dropping_kernel(int* y) {
  __shared__ Barrier barrier;
  __shared__ int room[64];
  if (threadIdx.x == 0) init(&barrier, 64);
  __syncthreads();
  const int i = threadIdx.x;
  room[i] = i;
  int sum = 0;
  for (int r = 0; r < 4; ++r) {
    if (i / 16 == r - 1) {
      barrier.arrive_and_drop();
      break;
    }
    barrier.arrive_and_wait();
    sum += room[63 - (i + r) % 16];
  }
  y[i] = sum;
}
CASE(barrier_arrive_and_drop) {
  const Array<int> y(64);
  dropping_kernel<<<1, 64>>>(y);
  y.show("y");
}

// The group's own copy and wait, with a tile that is no power of two.
__global__ void group_copy_kernel(const int* x, int* y, int n) {
  extern __shared__ int room[];
  auto block = cg::this_thread_block();
  int sum = 0;
  for (int at = 0; at < n; at += 50) {
    const int count = min(50, n - at);
    cg::memcpy_async(block, room, x + at, sizeof(int) * count);
    cg::wait(block);
    for (int k = threadIdx.x; k < count; k += blockDim.x) sum += room[count - 1 - k] * (k + 1);
    block.sync();
  }
  y[threadIdx.x] = sum;
}
CASE(group_copy_and_wait) {
  const Array<int> x(suite::numbers(333, 100)), y(64);
  group_copy_kernel<<<1, 64, 200>>>(x, y, 333);
  y.show("y");
}
