// Code of one warp: shuffles, votes, masks, memory between __syncwarp.
#include "../suite.cuh"

using suite::Array;

constexpr unsigned kFull = 0xffffffffu;

// Every kind of shuffle, with widths, and lanes out of range that keep their own value.
__global__ void shuffles_kernel(const int* x, int* y) {
  const int i = threadIdx.x;
  int v = x[i], r = 0;
  for (int width = 2; width <= 32; width *= 2) {
    r = r * 3 + __shfl_sync(kFull, v, i * 7, width);
    r = r * 3 + __shfl_up_sync(kFull, v, width / 2, width);
    r = r * 3 + __shfl_down_sync(kFull, v, width / 2 + 1, width);
    r = r * 3 + __shfl_xor_sync(kFull, v, width - 1, width);
  }
  const double d = __shfl_down_sync(kFull, static_cast<double>(v), 3);
  const long long l = __shfl_xor_sync(kFull, static_cast<long long>(v) << 33, 5);
  y[i] = r + static_cast<int>(d) + static_cast<int>(l >> 30);
}
CASE(shuffles_of_every_kind) {
  const Array<int> x(suite::numbers(32, 1000)), y(32);
  shuffles_kernel<<<1, 32>>>(x, y);
  y.show("y");
}

// Votes, matches and the reductions of a warp.
__global__ void votes_kernel(const int* x, unsigned* y) {
  const int i = threadIdx.x, v = x[i] % 5;
  int same = 0;
  unsigned r = __ballot_sync(kFull, v == 2) ^ __match_any_sync(kFull, v) ^ __match_all_sync(kFull, v / 5, &same);
  r += same + __any_sync(kFull, v == 4) * 2 + __all_sync(kFull, v < 5) * 4 + __popc(__activemask());
  r ^= __reduce_add_sync(kFull, v) ^ __reduce_max_sync(kFull, x[i]) ^ __reduce_min_sync(kFull, -x[i]) ^ __reduce_xor_sync(kFull, static_cast<unsigned>(x[i]));
  r ^= __reduce_and_sync(kFull, static_cast<unsigned>(x[i] | 1)) ^ __reduce_or_sync(kFull, static_cast<unsigned>(x[i])) << 1;
  y[i] = r;
}
CASE(votes_matches_and_reductions) {
  const Array<int> x(suite::numbers(32, 1000));
  const Array<unsigned> y(32);
  votes_kernel<<<1, 32>>>(x, y);
  y.show("y");
}

// Shared memory between lanes, ordered by __syncwarp alone.
__global__ void warp_scan_kernel(const int* x, int* y) {
  __shared__ int room[4][64];
  const int lane = threadIdx.x % 32, i = threadIdx.x;
  int* mine = room[threadIdx.x / 32];
  mine[lane] = 0;
  mine[lane + 32] = x[i];
  __syncwarp();
  for (int step = 1; step < 32; step *= 2) {
    const int v = mine[lane + 32] + mine[lane + 32 - step];
    __syncwarp();
    mine[lane + 32] = v;
    __syncwarp();
  }
  y[i] = mine[lane + 32];
}
CASE(scan_in_shared_memory_of_a_warp) {
  const Array<int> x(suite::numbers(128, 1000)), y(128);
  warp_scan_kernel<<<1, 128>>>(x, y);
  y.show("y");
}

// A mask for each branch; the halves of the warp go different ways and meet again.
__global__ void halves_kernel(const int* x, int* y) {
  const int i = threadIdx.x;
  const bool even = i % 2 == 0;
  const unsigned mask = __ballot_sync(kFull, even);
  int v = x[i];
  if (even) {
    for (int step = 2; step < 32; step *= 2) v += __shfl_xor_sync(mask, v, step);
  } else {
    for (int step = 16; step > 1; step /= 2) v = max(v, __shfl_xor_sync(~mask, v, step));
  }
  __syncwarp();
  y[i] = v + __shfl_xor_sync(kFull, v, 1);
}
CASE(masks_of_two_branches) {
  const Array<int> x(suite::numbers(32, 1000)), y(32);
  halves_kernel<<<1, 32>>>(x, y);
  y.show("y");
}

// Lanes with the same bin elect one who adds for all.
__global__ void aggregated_kernel(const int* x, int n, int* bins) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned here = __activemask(), peers = __match_any_sync(here, x[i]);
  if (__ffs(peers) - 1 == static_cast<int>(threadIdx.x % 32)) atomicAdd(&bins[x[i]], __popc(peers));
}
CASE(aggregated_atomics) {
  const Array<int> x(suite::numbers(500, 9)), bins(9, 0);
  aggregated_kernel<<<4, 128>>>(x, 500, bins);
  bins.show("bins");
}

// A loop that lanes leave one by one, with the mask of those who stay.
__global__ void shrinking_kernel(const int* rounds, int* y) {
  const int i = threadIdx.x;
  int sum = 0, left = rounds[i];
  unsigned mask = __ballot_sync(kFull, left > 0);
  while (left > 0) {
    sum += __popc(mask) + __shfl_sync(mask, left, __ffs(mask) - 1);
    --left;
    mask = __ballot_sync(mask, left > 0);
  }
  y[i] = sum;
}
CASE(mask_that_shrinks) {
  const Array<int> rounds(suite::numbers(32, 12)), y(32);
  shrinking_kernel<<<1, 32>>>(rounds, y);
  y.show("y");
}

// The warp writes global memory and reads it back after __syncwarp.
__global__ void through_global_kernel(int* scratch, int* y) {
  const int i = threadIdx.x, warp = i / 32 * 32;
  scratch[i] = i * 3;
  __syncwarp();
  const int v = scratch[warp + 31 - i % 32];
  __syncwarp();
  scratch[i] = v + 1;
  __syncwarp();
  y[i] = scratch[warp + (i + 5) % 32];
}
CASE(warp_talks_through_global_memory) {
  const Array<int> scratch(96), y(96);
  through_global_kernel<<<1, 96>>>(scratch, y);
  y.show("y");
}

// Two halves of a warp each use their own part with their own mask: no order between them is needed.
__global__ void own_parts_kernel(const int* x, int* y) {
  __shared__ int room[32];
  const int i = threadIdx.x;
  if (i < 16) {
    room[i] = x[i];
    __syncwarp(0x0000ffffu);
    y[i] = room[15 - i];
  } else {
    room[i] = x[i] * 2;
    __syncwarp(0xffff0000u);
    y[i] = room[47 - i];
  }
}
CASE(halves_with_masks_of_their_own) {
  const Array<int> x(suite::numbers(32, 1000)), y(32);
  own_parts_kernel<<<1, 32>>>(x, y);
  y.show("y");
}

// What lanes have written is read after a vote and a __syncwarp.
__global__ void vote_orders_kernel(const int* x, int* y) {
  __shared__ int room[32];
  const int i = threadIdx.x;
  room[i] = x[i];
  const unsigned odd = __ballot_sync(kFull, x[i] & 1);
  __syncwarp();
  int sum = 0;
  for (unsigned left = odd; left; left &= left - 1) sum += room[__ffs(left) - 1];
  y[i] = sum + i;
}
CASE(values_of_the_lanes_that_voted) {
  const Array<int> x(suite::numbers(32, 1000)), y(32);
  vote_orders_kernel<<<1, 32>>>(x, y);
  y.show("y");
}
