// Warp operations whose mask does not say who takes part.
#include <cooperative_groups.h>

#include "pair.cuh"

// A full mask in a branch that half of the lanes take; the others have gone.
template <bool right>
__global__ void gone(const float* x, float* y) {
  if (threadIdx.x >= 16) return;
  float v = x[threadIdx.x];
  v += __shfl_xor_sync(right ? 0x0000ffffu : 0xffffffffu, v, 1);  // FAULT mask_of_exited_lanes synccheck invalid_warp_mask
  y[threadIdx.x] = v;
}
PAIR(mask_of_exited_lanes) {
  gone<right><<<1, 32>>>(zeros<float>(32), zeros<float>(32));
  settle();
}

// The caller isn't in its own mask.
template <bool right>
__global__ void not_me(const int* x, int* y) {
  const unsigned mask = right || threadIdx.x < 31 ? 0xffffffffu : 0x7fffffffu;
  y[threadIdx.x] = __shfl_sync(right ? mask : 0x7fffffffu, x[threadIdx.x], 0);  // FAULT caller_not_in_mask synccheck invalid_warp_mask
}
PAIR(caller_not_in_mask) {
  not_me<right><<<1, 32>>>(zeros<int>(32), zeros<int>(32));
  settle();
}

// A full mask in a branch; the other lanes wait elsewhere and never come.
template <bool right>
__global__ void elsewhere(const int* x, int* y) {
  const int i = threadIdx.x;
  if (i < 16) y[i] = __ballot_sync(right ? 0x0000ffffu : 0xffffffffu, x[i] == 0);  // FAULT full_mask_in_branch synccheck invalid_warp_mask // FAULT-OR full_mask_in_branch synccheck barrier_deadlock
  else y[i] = 2 * x[i];
}
PAIR(full_mask_in_branch) {
  elsewhere<right><<<1, 32>>>(zeros<int>(32), zeros<int>(32));
  settle();
}

// __syncwarp with lanes that have returned.
template <bool right>
__global__ void sync_gone(int* y) {
  __shared__ int s[32];
  if (threadIdx.x >= 20) return;
  s[threadIdx.x] = threadIdx.x;
  __syncwarp(right ? 0x000fffffu : 0xffffffffu);  // FAULT syncwarp_of_exited_lanes synccheck invalid_warp_mask
  y[threadIdx.x] = s[19 - threadIdx.x];
}
PAIR(syncwarp_of_exited_lanes) {
  sync_gone<right><<<1, 32>>>(zeros<int>(32));
  settle();
}

// Masks that differ between the lanes of one operation.
template <bool right>
__global__ void disagree(const int* x, int* y) {
  const unsigned mask = right ? 0xffffffffu : threadIdx.x < 16 ? 0xffffffffu : 0xffff0000u;
  y[threadIdx.x] = __any_sync(mask, x[threadIdx.x]);  // FAULT masks_differ synccheck invalid_warp_mask
}
PAIR(masks_differ) {
  disagree<right><<<1, 32>>>(zeros<int>(32), zeros<int>(32));
  settle();
}

// A mask taken by __activemask before the branch it is used in.
template <bool right>
__global__ void old_mask(const int* x, int* y) {
  const int i = threadIdx.x;
  const unsigned mask = right ? __ballot_sync(0xffffffffu, i % 3 == 0) : __activemask();
  if (i % 3 == 0) y[i] = __reduce_add_sync(mask, x[i]);  // FAULT mask_from_before_the_branch synccheck invalid_warp_mask // FAULT-OR mask_from_before_the_branch synccheck barrier_deadlock
}
PAIR(mask_from_before_the_branch) {
  old_mask<right><<<1, 32>>>(zeros<int>(32), zeros<int>(32));
  settle();
}

// A partial last warp that is asked for all its lanes: no fault, what never was isn't waited for.
__global__ void last_warp(const int* x, int* y) { y[threadIdx.x] = __match_any_sync(0xffffffffu, x[threadIdx.x]); }
CASE(partial_last_warp) {
  last_warp<<<1, 40>>>(zeros<int>(40), zeros<int>(40));
  settle();
}

// A tile of cooperative groups that part of its threads left.
template <bool right>
__global__ void tile(const int* x, int* y) {
  auto part = cooperative_groups::tiled_partition<8>(cooperative_groups::this_thread_block());
  if (!right && threadIdx.x % 8 == 7) return;
  int v = x[threadIdx.x];
  v += part.shfl_down(v, 1);  // FAULT tile_with_exited_thread synccheck invalid_warp_mask
  y[threadIdx.x] = v;
}
PAIR(tile_with_exited_thread) {
  tile<right><<<1, 32>>>(zeros<int>(32), zeros<int>(32));
  settle();
}
