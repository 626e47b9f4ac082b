// Kernels that do not end: every warp waits, or runs for ever. On a GPU these hang.
#include "pair.cuh"

// Two groups take two named barriers in opposite order.
template <bool right>
__global__ void crossed(int* y) {
  if (threadIdx.x < 32) {
    asm volatile("bar.sync 1, 64;" ::: "memory");  // FAULT-OR crossed_barriers synccheck barrier_deadlock // HANGS crossed_barriers
    asm volatile("bar.sync 2, 64;" ::: "memory");
  } else {
    asm volatile("bar.sync %0, 64;" ::"r"(right ? 1 : 2) : "memory");  // FAULT-OR crossed_barriers synccheck barrier_deadlock
    asm volatile("bar.sync %0, 64;" ::"r"(right ? 2 : 1) : "memory");
  }
  y[threadIdx.x] = 1;
}
PAIR(crossed_barriers) {
  crossed<right><<<1, 64>>>(zeros<int>(64));
  settle();
}

// A named barrier that expects more threads than come.
template <bool right>
__global__ void one_warp_short(int* y) {
  if (threadIdx.x < (right ? 96 : 64)) asm volatile("bar.sync 3, 96;" ::: "memory");  // FAULT barrier_one_warp_short synccheck barrier_deadlock // HANGS barrier_one_warp_short
  y[threadIdx.x] = 1;
}
PAIR(barrier_one_warp_short) {
  one_warp_short<right><<<1, 128>>>(zeros<int>(128));
  settle();
}

// One warp waits for the block, the other for a flag that comes behind the barrier.
template <bool right>
__global__ void barrier_and_flag(int* flag, int* y) {
  if (threadIdx.x < 32) {
    if (right && threadIdx.x == 0) atomicExch(flag, 1);
    __syncthreads();  // FAULT-OR barrier_against_flag synccheck barrier_deadlock // FAULT-OR barrier_against_flag synccheck endless_loop
    if (threadIdx.x == 0) atomicExch(flag, 1);
  } else {
    while (atomicAdd(flag, 0) == 0) {}  // FAULT-OR barrier_against_flag synccheck endless_loop // HANGS barrier_against_flag
    __syncthreads();
  }
  y[threadIdx.x] = 1;
}
PAIR(barrier_against_flag) {
  barrier_and_flag<right><<<1, 64>>>(zeros<int>(1), zeros<int>(64));
  settle();
}

// A lock that is taken twice by its holder.
template <bool right>
__global__ void twice(int* lock, int* y) {
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    if (!right)
      while (atomicCAS(lock, 0, 1) != 0) {}  // FAULT lock_taken_twice synccheck endless_loop // HANGS lock_taken_twice
    y[0] = 1;
    __threadfence();
    atomicExch(lock, 0);
  }
}
PAIR(lock_taken_twice) {
  twice<right><<<1, 32>>>(zeros<int>(1), zeros<int>(1));
  settle();
}

// The lanes of a warp meet inside the section that only one of them may enter.
template <bool right>
__global__ void meet_in_lock(int* lock, int* y) {
  while (atomicCAS(lock, 0, 1) != 0) {}  // FAULT-OR warp_meets_in_lock synccheck endless_loop // HANGS warp_meets_in_lock
  if (!right) __syncwarp();              // FAULT-OR warp_meets_in_lock synccheck barrier_deadlock
  y[0] += 1;
  __threadfence();
  atomicExch(lock, 0);
}
CASE(warp_meets_in_lock) {
  meet_in_lock<false><<<1, 32>>>(zeros<int>(1), zeros<int>(1));
  settle();
}

// Two locks in opposite order.
template <bool right>
__global__ void two_locks(int* locks, int* flags, int* y) {
  if (threadIdx.x) return;
  const int first = right ? 0 : blockIdx.x, second = 1 - first;
  while (atomicCAS(&locks[first], 0, 1) != 0) {}
  if (!right) {  // both hold their first
    atomicAdd(flags, 1);
    while (atomicAdd(flags, 0) < 2) {}
  }
  while (atomicCAS(&locks[second], 0, 1) != 0) {}  // FAULT locks_in_opposite_order synccheck endless_loop // HANGS locks_in_opposite_order
  __threadfence();
  *y += 1;
  __threadfence();
  atomicExch(&locks[second], 0);
  atomicExch(&locks[first], 0);
}
PAIR(locks_in_opposite_order) {
  two_locks<right><<<2, 32>>>(zeros<int>(2), zeros<int>(1), zeros<int>(1));
  settle();
}

// A loop whose counter never gets there: it steps over the end.
template <bool right>
__global__ void steps_over(unsigned n, int* y) {
  int k = 0;
#pragma unroll 1
  for (unsigned i = threadIdx.x; right ? i < n : i != n; i += 32) {  // FAULT-OR steps_over_the_end synccheck endless_loop // HANGS steps_over_the_end
    if (y[i & 31] == 0) ++k;                                       // FAULT-OR steps_over_the_end synccheck endless_loop
  }
  y[threadIdx.x] = k;
}
PAIR(steps_over_the_end) {
  steps_over<right><<<1, 32>>>(100, zeros<int>(32));
  settle();
}

// Blocks wait for one another with a counter that is one too high.
template <bool right>
__global__ void home_made_grid_barrier(unsigned* arrived, int* y) {
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1u);
    while (atomicAdd(arrived, 0u) < gridDim.x + (right ? 0 : 1)) {}  // FAULT-OR grid_barrier_one_too_high synccheck endless_loop // HANGS grid_barrier_one_too_high
  }
  __syncthreads();  // FAULT-OR grid_barrier_one_too_high synccheck endless_loop
  y[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}
PAIR(grid_barrier_one_too_high) {
  home_made_grid_barrier<right><<<2, 64>>>(zeros<unsigned>(1), zeros<int>(128));
  settle();
}
