// Shared memory without the order that is needed: between warps, within a warp, at barriers that are there but not enough.
#include "pair.cuh"

// Neighbours read before the block has written.
template <bool right>
__global__ void neighbours(const int* x, int* y) {
  __shared__ int s[128];
  const int i = threadIdx.x;
  s[i] = x[i];  // FAULT-OR read_after_write racecheck shared_race_war
  if (right) __syncthreads();
  y[i] = s[127 - i];  // FAULT-OR read_after_write racecheck shared_race_raw // FAULT-OR read_after_write initcheck uninitialized_shared_read
}
CASE(read_after_write) {
  neighbours<false><<<1, 128>>>(zeros<int>(128), zeros<int>(128));
  settle();
}
CASE(read_after_write_right) {
  neighbours<true><<<1, 128>>>(zeros<int>(128), zeros<int>(128));
  settle();
}

// A tile loop whose second barrier is missing: the next tile is written while others still read this one.
template <bool right>
__global__ void tiles(const int* x, int* y) {
  __shared__ int s[64];
  const int i = threadIdx.x;
  int sum = 0;
#pragma unroll 1
  for (int k = 0; k < 4; ++k) {
    s[i] = x[64 * k + i];  // FAULT-OR tile_overwritten racecheck shared_race_war
    __syncthreads();
    for (int n = 0; n < 64; n += 7) sum += s[(i + n) % 64];  // FAULT-OR tile_overwritten racecheck shared_race_raw
    if (right) __syncthreads();
  }
  y[i] = sum;
}
PAIR(tile_overwritten) {
  tiles<right><<<1, 64>>>(zeros<int>(256), zeros<int>(64));
  settle();
}

// A tree reduction without the barrier between its steps.
template <bool right>
__global__ void tree(const int* x, int* y) {
  __shared__ int s[256];
  const int i = threadIdx.x;
  s[i] = x[i];
  __syncthreads();
#pragma unroll 1
  for (int half = 128; half > 0; half /= 2) {
    if (i < half) s[i] += s[i + half];  // FAULT-OR tree_without_barrier racecheck shared_race_raw // FAULT-OR tree_without_barrier racecheck shared_race_war
    if (right) __syncthreads();
  }
  if (i == 0) y[0] = s[0];
}
PAIR(tree_without_barrier) {
  tree<right><<<1, 256>>>(zeros<int>(256), zeros<int>(1));
  settle();
}

// The last steps of a reduction within one warp, in the belief that a warp runs in lockstep.
template <bool right>
__global__ void last_warp(const int* x, int* y) {
  __shared__ volatile int s[64];
  const int i = threadIdx.x;
  s[i] = x[i];
  s[i + 32] = x[i + 32];
  __syncwarp();
  for (int half = 16; half > 0; half /= 2) {
    int sum = s[i] + s[i + half];  // FAULT-OR lockstep racecheck shared_race_raw
    if (right) __syncwarp();
    s[i] = sum;  // FAULT-OR lockstep racecheck shared_race_war
    if (right) __syncwarp();
  }
  if (i == 0) y[0] = s[0];
}
PAIR(lockstep) {
  last_warp<right><<<1, 32>>>(zeros<int>(64), zeros<int>(1));
  settle();
}

// An exchange between the lanes of one warp through shared memory.
template <bool right>
__global__ void lanes(const float* x, float* y) {
  __shared__ float s[4][33];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  s[warp][lane] = x[threadIdx.x];
  if (right) __syncwarp();
  y[threadIdx.x] = s[warp][(lane + 1) % 32];  // FAULT lanes_without_syncwarp racecheck shared_race_raw
}
CASE(lanes_without_syncwarp) {
  lanes<false><<<1, 128>>>(zeros<float>(128), zeros<float>(128));
  settle();
}
CASE(lanes_without_syncwarp_right) {
  lanes<true><<<1, 128>>>(zeros<float>(128), zeros<float>(128));
  settle();
}

// __syncwarp of half a warp does not order the other half.
template <bool right>
__global__ void half_mask(const int* x, int* y) {
  __shared__ int s[32];
  const int i = threadIdx.x;
  s[i] = x[i];
  if (right) __syncwarp();
  else __syncwarp(i < 16 ? 0x0000ffffu : 0xffff0000u);
  y[i] = s[31 - i];  // FAULT syncwarp_of_halves racecheck shared_race_raw
}
PAIR(syncwarp_of_halves) {
  half_mask<right><<<1, 32>>>(zeros<int>(32), zeros<int>(32));
  settle();
}

// Two threads of different warps write one result.
template <bool right>
__global__ void winner(const int* x, int* y) {
  __shared__ int best;
  if (threadIdx.x == 0) best = -1;
  __syncthreads();
  if (x[threadIdx.x] == 0) {
    if (right) atomicMax(&best, static_cast<int>(threadIdx.x));
    else best = threadIdx.x;  // FAULT many_winners racecheck shared_race_waw
  }
  __syncthreads();
  if (threadIdx.x == 0) y[0] = best;
}
PAIR(many_winners) {
  winner<right><<<1, 128>>>(zeros<int>(128), zeros<int>(1));
  settle();
}

// A shared histogram without atomics.
template <bool right>
__global__ void tally(const int* keys, int* out) {
  __shared__ int bins[8];
  if (threadIdx.x < 8) bins[threadIdx.x] = 0;
  __syncthreads();
  const int key = keys[threadIdx.x] & 7;
  if (right) atomicAdd(&bins[key], 1);
  else bins[key]++;  // FAULT-OR shared_histogram racecheck shared_race_waw // FAULT-OR shared_histogram racecheck shared_race_raw // FAULT-OR shared_histogram racecheck shared_race_war
  __syncthreads();
  if (threadIdx.x < 8) out[threadIdx.x] = bins[threadIdx.x];
}
PAIR(shared_histogram) {
  tally<right><<<1, 64>>>(zeros<int>(64), zeros<int>(8));
  settle();
}

// One side of the conflict is atomic, the other plain.
template <bool right>
__global__ void plain_reader(int* y) {
  __shared__ int ready;
  if (threadIdx.x == 0) ready = 0;
  __syncthreads();
  atomicAdd(&ready, 1);  // FAULT-OR atomic_and_plain racecheck shared_race_war
  if (right) __syncthreads();
  y[threadIdx.x] = ready;  // FAULT-OR atomic_and_plain racecheck shared_race_raw
}
PAIR(atomic_and_plain) {
  plain_reader<right><<<1, 64>>>(zeros<int>(64));
  settle();
}

// Bytes of one word: neighbours do not conflict, but this one writes two.
template <bool right>
__global__ void bytes(unsigned char* y) {
  __shared__ unsigned char s[132];
  const int i = threadIdx.x;
  s[i] = i;  // FAULT-OR bytes_that_overlap racecheck shared_race_waw
  if (!right) s[i + 1] = i;  // FAULT-OR bytes_that_overlap racecheck shared_race_waw
  __syncthreads();
  y[i] = s[i];
}
PAIR(bytes_that_overlap) {
  bytes<right><<<1, 128>>>(zeros<unsigned char>(128));
  settle();
}

// A named barrier for two of four warps, whose result all four read.
template <bool right>
__global__ void named(const int* x, int* y) {
  __shared__ int s[128];
  const int i = threadIdx.x;
  if (i < 64) {
    s[i] = x[i];
    asm volatile("bar.sync 1, 64;" ::: "memory");
  }
  if (right) __syncthreads();
  y[i] = s[i % 64];  // FAULT named_barrier_of_others racecheck shared_race_raw
}
PAIR(named_barrier_of_others) {
  named<right><<<1, 128>>>(zeros<int>(128), zeros<int>(128));
  settle();
}

// A producer that arrives before it has written.
template <bool right>
__global__ void arrives(const int* x, int* y) {
  __shared__ int s[32];
  const int i = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    if (right) s[i] = x[i];
    asm volatile("bar.arrive 2, 64;" ::: "memory");
    if (!right) s[i] = x[i];  // FAULT-OR arrives_too_early racecheck shared_race_war
  } else {
    asm volatile("bar.sync 2, 64;" ::: "memory");
    y[i] = s[31 - i];  // FAULT-OR arrives_too_early racecheck shared_race_raw // FAULT-OR arrives_too_early initcheck uninitialized_shared_read
  }
}
PAIR(arrives_too_early) {
  arrives<right><<<1, 64>>>(zeros<int>(32), zeros<int>(32));
  settle();
}

// Two buffers, and a producer that is two rounds ahead.
template <bool right>
__global__ void two_buffers(const int* x, int* y) {
  __shared__ int s[2][32];
  const int i = threadIdx.x % 32;
  int sum = 0;
#pragma unroll 1
  for (int k = 0; k < 6; ++k) {
    if (threadIdx.x < 32) s[k % 2][i] = x[i] + k;  // FAULT-OR one_buffer_too_few racecheck shared_race_war
    if (right || k % 2 == 0) __syncthreads();
    if (threadIdx.x >= 32) sum += s[k % 2][31 - i];  // FAULT-OR one_buffer_too_few racecheck shared_race_raw // FAULT-OR one_buffer_too_few initcheck uninitialized_shared_read
  }
  if (threadIdx.x >= 32) y[i] = sum;
}
PAIR(one_buffer_too_few) {
  two_buffers<right><<<1, 64>>>(zeros<int>(32), zeros<int>(32));
  settle();
}

// A lock that protects the writer only.
template <bool right>
__global__ void half_locked(int* y) {
  __shared__ int lock, value;
  if (threadIdx.x == 0) lock = value = 0;
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    int seen = 0;
    while (atomicCAS(&lock, 0, 1) != 0) {}
    __threadfence_block();
    value += 1;  // FAULT-OR unlocked_reader racecheck shared_race_war
    if (right) seen = value;
    __threadfence_block();
    atomicExch(&lock, 0);
    if (!right) seen = value;  // FAULT-OR unlocked_reader racecheck shared_race_raw
    y[threadIdx.x / 32] = seen;
  }
}
CASE(unlocked_reader) {
  half_locked<false><<<1, 128>>>(zeros<int>(4));
  settle();
}
CASE(unlocked_reader_right) {
  half_locked<true><<<1, 128>>>(zeros<int>(4));
  settle();
}
