// Barriers of the block that not all threads reach, or not with the right count.
#include <cooperative_groups.h>

#include "pair.cuh"

// Half a warp takes the branch with the barrier.
template <bool right>
__global__ void half_warp(int* y) {
  if (threadIdx.x < (right ? 64 : 16)) {
    __syncthreads();  // FAULT barrier_in_half_a_warp synccheck divergent_barrier
    y[threadIdx.x] = 1;
  } else {
    y[threadIdx.x] = 2;
  }
}
PAIR(barrier_in_half_a_warp) {
  half_warp<right><<<1, 64>>>(zeros<int>(64));
  settle();
}

// Threads beyond the end return before the barrier: no fault, since a barrier waits for those that have not exited.
__global__ void early_return(const int* x, int* y, int n) {
  __shared__ int s[64];
  const int i = threadIdx.x;
  if (i >= n) return;
  s[i] = x[i];
  __syncthreads();
  y[i] = s[n - 1 - i];
}
CASE(return_before_barrier) {
  early_return<<<1, 64>>>(zeros<int>(64), zeros<int>(64), 50);
  settle();
}

// The same, but what the threads that left should have written is read.
template <bool right>
__global__ void missed(const int* x, int* y, int n) {
  __shared__ int s[64];
  const int i = threadIdx.x;
  if (right && i >= n) s[i] = 0;
  if (i >= n) return;
  s[i] = x[i];
  __syncthreads();
  y[i] = s[63 - i];  // FAULT return_before_writing initcheck uninitialized_shared_read // FAULT-OR return_before_writing racecheck shared_race_raw
}
CASE(return_before_writing) {
  missed<false><<<1, 64>>>(zeros<int>(64), zeros<int>(64), 50);
  settle();
}

// The two branches have a barrier each.
template <bool right>
__global__ void both_branches(int* y) {
  if (right || threadIdx.x % 2) {
    y[threadIdx.x] = 1;
    __syncthreads();  // FAULT-OR barrier_in_each_branch synccheck divergent_barrier
    y[threadIdx.x] += 1;
  } else {
    y[threadIdx.x] = 2;
    __syncthreads();  // FAULT-OR barrier_in_each_branch synccheck divergent_barrier
    y[threadIdx.x] += 2;
  }
}
PAIR(barrier_in_each_branch) {
  both_branches<right><<<1, 32>>>(zeros<int>(32));
  settle();
}

// A loop whose number of rounds differs between threads of a warp.
template <bool right>
__global__ void rounds(const int* n, int* y) {
  const int i = threadIdx.x;
  int sum = 0;
#pragma unroll 1
  for (int k = 0; k < (right ? 3 : n[i]); ++k) {
    sum += k;
    __syncthreads();  // FAULT barrier_in_uneven_loop synccheck divergent_barrier // FAULT-OR barrier_in_uneven_loop synccheck barrier_deadlock
  }
  y[i] = sum;
}
PAIR(barrier_in_uneven_loop) {
  int n[64], *on_device = zeros<int>(64);
  for (int k = 0; k < 64; ++k) n[k] = k < 60 ? 3 : 2;
  cudaMemcpy(on_device, n, sizeof n, cudaMemcpyHostToDevice);
  rounds<right><<<1, 64>>>(on_device, zeros<int>(64));
  settle();
}

// Whole warps skip the barrier and go on to another.
template <bool right>
__global__ void warps_skip(int* y) {
  if (right || threadIdx.x < 32) {
    y[threadIdx.x] = 1;
    __syncthreads();  // FAULT barrier_in_one_warp synccheck divergent_barrier
    y[threadIdx.x] = 3;
  }
  y[64 + threadIdx.x] = 2;
}
PAIR(barrier_in_one_warp) {
  warps_skip<right><<<1, 64>>>(zeros<int>(128));
  settle();
}

// A count that is no multiple of the warp size.
template <bool right>
__global__ void odd_count(int* y) {
  if (threadIdx.x < 64) asm volatile("bar.sync 1, %0;" ::"r"(right ? 64 : 48) : "memory");  // FAULT count_of_48 synccheck invalid_barrier
  y[threadIdx.x] = 1;
}
PAIR(count_of_48) {
  odd_count<right><<<1, 128>>>(zeros<int>(128));
  settle();
}

// A barrier number that does not exist.
template <bool right>
__global__ void barrier_number(int* y, int number) {
  asm volatile("barrier.sync %0;" ::"r"(number) : "memory");  // FAULT barrier_sixteen synccheck invalid_barrier
  y[threadIdx.x] = 1;
}
PAIR(barrier_sixteen) {
  barrier_number<right><<<1, 32>>>(zeros<int>(32), right ? 15 : 16);
  settle();
}

// Two groups use one named barrier with different counts.
template <bool right>
__global__ void two_counts(int* y) {
  if (threadIdx.x < 32) asm volatile("bar.sync 1, 64;" ::: "memory");  // FAULT-OR two_counts synccheck invalid_barrier
  else if (right) asm volatile("bar.sync 1, 64;" ::: "memory");
  else asm volatile("bar.sync 1, 96;" ::: "memory");  // FAULT two_counts synccheck invalid_barrier
  y[threadIdx.x] = 1;
}
PAIR(two_counts) {
  two_counts<right><<<1, 64>>>(zeros<int>(64));
  settle();
}

// The group's barrier through cooperative groups, in a branch.
template <bool right>
__global__ void group_sync(int* y) {
  auto block = cooperative_groups::this_thread_block();
  if (right || block.thread_rank() % 32 < 20) {
    y[block.thread_rank()] = 1;
    block.sync();  // FAULT group_sync_in_branch synccheck divergent_barrier
    y[block.thread_rank()] = 2;
  }
  y[64 + block.thread_rank()] = 3;
}
PAIR(group_sync_in_branch) {
  group_sync<right><<<1, 64>>>(zeros<int>(128));
  settle();
}

// The vote of a block in a branch.
template <bool right>
__global__ void block_vote(int* y) {
  if (right || threadIdx.x < 40) y[threadIdx.x] = __syncthreads_count(threadIdx.x & 1);  // FAULT count_in_branch synccheck divergent_barrier
  y[64 + threadIdx.x] = 1;
}
PAIR(count_in_branch) {
  block_vote<right><<<1, 64>>>(zeros<int>(128));
  settle();
}

// The grid's barrier in a launch that is not cooperative.
__global__ void grid_sync(int* y) {
  y[blockIdx.x * blockDim.x + threadIdx.x] = 1;
  cooperative_groups::this_grid().sync();  // FAULT grid_sync_in_plain_launch synccheck invalid_barrier
}
PAIR(grid_sync_in_plain_launch) {
  int* y = zeros<int>(64);
  void* arguments[] = {&y};
  if (right) cudaLaunchCooperativeKernel(reinterpret_cast<void*>(grid_sync), dim3(2), dim3(32), arguments, 0, nullptr);
  else grid_sync<<<2, 32>>>(y);
  settle();
}
