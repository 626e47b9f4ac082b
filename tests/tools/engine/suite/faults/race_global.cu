// Global memory without the order that is needed: between blocks, between threads, between fences and flags. compute-sanitizer has no check for these.
#include <cooperative_groups.h>
#include <cuda/atomic>

#include "pair.cuh"

namespace cg = cooperative_groups;

// Blocks that add to one sum.
template <bool right>
__global__ void sum(const float* x, float* y) {
  const float v = x[blockIdx.x * blockDim.x + threadIdx.x];
  if (right) atomicAdd(y, v);
  else *y += v;  // FAULT-OR sum_without_atomics racecheck global_race_raw // FAULT-OR sum_without_atomics racecheck global_race_waw // FAULT-OR sum_without_atomics racecheck global_race_war
}
PAIR(sum_without_atomics) {
  sum<right><<<2, 64>>>(zeros<float>(128), zeros<float>(1));
  settle();
}

// A stencil in place: blocks read what others write.
template <bool right>
__global__ void smooth(const float* from, float* to, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < n - 1) to[i] = 0.5f * (from[i - 1] + from[i + 1]);  // FAULT-OR stencil_in_place racecheck global_race_raw // FAULT-OR stencil_in_place racecheck global_race_war
}
PAIR(stencil_in_place) {
  float* x = zeros<float>(256);
  smooth<right><<<2, 128>>>(x, right ? zeros<float>(256) : x, 256);
  settle();
}

// The halves of the output overlap by one row.
template <bool right>
__global__ void overlap(int* y, int rows) {
  const int first = blockIdx.x * rows;
  for (int r = 0; r < (right ? rows : rows + 1); ++r) y[(first + r) * 32 + threadIdx.x] = blockIdx.x;  // FAULT overlapping_rows racecheck global_race_waw
}
PAIR(overlapping_rows) {
  overlap<right><<<2, 32>>>(zeros<int>(32 * 9), 4);
  settle();
}

// Threads of a block talk through global memory without a barrier.
template <bool right>
__global__ void through_global(int* scratch, int* y) {
  scratch[threadIdx.x] = threadIdx.x;  // FAULT-OR block_through_global racecheck global_race_war
  if (right) __syncthreads();
  y[threadIdx.x] = scratch[threadIdx.x ^ 32];  // FAULT-OR block_through_global racecheck global_race_raw
}
PAIR(block_through_global) {
  through_global<right><<<1, 64>>>(zeros<int>(64), zeros<int>(64));
  settle();
}

// The last block sums up, but nobody fenced before the ticket.
template <bool right>
__global__ void last_block(const int* x, int* partial, unsigned* ticket, int* y) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = x[blockIdx.x];
    if (right) __threadfence();
    last = atomicAdd(ticket, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x < gridDim.x) atomicAdd(y, partial[threadIdx.x]);  // FAULT last_block_without_fence racecheck global_race_raw
}
PAIR(last_block_without_fence) {
  last_block<right><<<4, 32>>>(zeros<int>(4), zeros<int>(4), zeros<unsigned>(1), zeros<int>(1));
  settle();
}

// The fence is for the block, the reader is in another.
template <bool right>
__global__ void narrow_fence(const int* x, int* partial, unsigned* ticket, int* y) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = x[blockIdx.x];
    if (right) __threadfence();
    else __threadfence_block();
    last = atomicAdd(ticket, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x < gridDim.x) atomicAdd(y, partial[threadIdx.x]);  // FAULT fence_of_the_block racecheck global_race_raw
}
PAIR(fence_of_the_block) {
  narrow_fence<right><<<4, 32>>>(zeros<int>(4), zeros<int>(4), zeros<unsigned>(1), zeros<int>(1));
  settle();
}

// Message passing with relaxed operations.
template <bool right>
__global__ void message(int* data, int* flag, int* y) {
  cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
  if (blockIdx.x == 0) {
    *data = 42;
    ready.store(1, right ? cuda::memory_order_release : cuda::memory_order_relaxed);
  } else {
    while (ready.load(cuda::memory_order_acquire) == 0) {}
    *y = *data;  // FAULT relaxed_message racecheck global_race_raw
  }
}
PAIR(relaxed_message) {
  message<right><<<2, 1>>>(zeros<int>(1), zeros<int>(1), zeros<int>(1));
  settle();
}

// Release and acquire, but with the scope of a block, across blocks.
template <bool right>
__global__ void narrow_scope(int* data, int* flag, int* y) {
  constexpr cuda::thread_scope scope = right ? cuda::thread_scope_device : cuda::thread_scope_block;
  cuda::atomic_ref<int, scope> ready(*flag);
  if (blockIdx.x == 0) {
    *data = 42;
    ready.store(1, cuda::memory_order_release);
  } else {
    while (ready.load(cuda::memory_order_acquire) == 0) {}  // FAULT-OR scope_of_the_block racecheck global_race_raw
    *y = *data;                                             // FAULT-OR scope_of_the_block racecheck global_race_raw
  }
}
PAIR(scope_of_the_block) {
  narrow_scope<right><<<2, 1>>>(zeros<int>(1), zeros<int>(1), zeros<int>(1));
  settle();
}

// An atomic of the block's scope on a counter that all blocks share.
template <bool right>
__global__ void narrow_counter(int* counter) {
  if (right) atomicAdd(counter, 1);
  else atomicAdd_block(counter, 1);  // FAULT-OR counter_of_the_block racecheck global_race_raw // FAULT-OR counter_of_the_block racecheck global_race_waw
}
PAIR(counter_of_the_block) {
  narrow_counter<right><<<2, 32>>>(zeros<int>(1));
  settle();
}

// A flag that is neither volatile nor atomic.
template <bool right>
__global__ void plain_flag(int* flag, int* y) {
  if (blockIdx.x == 0) {
    if (right) atomicExch(flag, 1);
    else if (threadIdx.x == 0) *flag = 1;  // FAULT-OR plain_flag racecheck global_race_waw
  } else {
    y[threadIdx.x] = atomicAdd(flag, 0);  // FAULT-OR plain_flag racecheck global_race_waw
  }
}
PAIR(plain_flag) {
  plain_flag<right><<<2, 32>>>(zeros<int>(1), zeros<int>(32));
  settle();
}

// A plain store takes back what an atomic counts.
template <bool right>
__global__ void reset(int* counter, int* y) {
  const int at = atomicAdd(counter, 1);
  y[at & 63] = threadIdx.x;
  if (right) return;
  if (threadIdx.x == 0 && blockIdx.x == 1) *counter = 0;  // FAULT counter_reset racecheck global_race_waw
}
PAIR(counter_reset) {
  reset<right><<<2, 32>>>(zeros<int>(1), zeros<int>(64));
  settle();
}

// The grid's barrier is missing between two phases of a cooperative kernel.
template <bool right>
__global__ void phases(int* a, int* b) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  a[i] = i;  // FAULT-OR phases_without_grid_sync racecheck global_race_war
  if (right) cg::this_grid().sync();
  else __syncthreads();
  b[i] = a[n - 1 - i];  // FAULT-OR phases_without_grid_sync racecheck global_race_raw
}
PAIR(phases_without_grid_sync) {
  int *a = zeros<int>(128), *b = zeros<int>(128);
  void* arguments[] = {&a, &b};
  cudaLaunchCooperativeKernel(reinterpret_cast<void*>(phases<right>), dim3(2), dim3(64), arguments, 0, nullptr);
  settle();
}

// A lock that is released without a fence.
template <bool right>
__global__ void locked(int* lock, int* value) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, 0, 1) != 0) {}
  __threadfence();
  *value += 1;  // FAULT-OR lock_without_release racecheck global_race_raw // FAULT-OR lock_without_release racecheck global_race_waw // FAULT-OR lock_without_release racecheck global_race_war
  if (right) __threadfence();
  atomicExch(lock, 0);
}
PAIR(lock_without_release) {
  locked<right><<<4, 32>>>(zeros<int>(1), zeros<int>(1));
  settle();
}

// The lanes of one warp through global memory.
template <bool right>
__global__ void warp_through_global(int* scratch, int* y) {
  scratch[threadIdx.x] = threadIdx.x;
  if (right) __syncwarp();
  y[threadIdx.x] = scratch[threadIdx.x ^ 1];  // FAULT warp_through_global racecheck global_race_raw
}
PAIR(warp_through_global) {
  warp_through_global<right><<<1, 32>>>(zeros<int>(32), zeros<int>(32));
  settle();
}

// Read through the read-only path what the same kernel writes.
template <bool right>
__global__ void read_only(int* x, int* y) {
  x[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (right) y[threadIdx.x] = x[threadIdx.x ^ 1];
  else y[threadIdx.x] = __ldg(&x[threadIdx.x ^ 1]);  // FAULT read_only_path racecheck global_race_raw
}
PAIR(read_only_path) {
  read_only<right><<<1, 64>>>(zeros<int>(64), zeros<int>(64));
  settle();
}
