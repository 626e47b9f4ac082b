// More of what a naive tool gets wrong; each case knows its own truth.
#include <algorithm>

#include "../suite.cuh"

using suite::Array;

constexpr unsigned kAll = 0xffffffffu;

// A shuffle in a loop with a number of rounds of its own for each half of the warp: the compiler copies the loop's body.
__global__ void uneven_rounds_kernel(const int* x, int* y) {
  const int i = threadIdx.x, rounds = i < 16 ? 3 : 6;
  const unsigned mask = i < 16 ? 0x0000ffffu : 0xffff0000u;
  int v = x[i];
  for (int k = 0; k < rounds; ++k) v += __shfl_xor_sync(mask, v, 1 << k % 4);
  y[i] = v;
}
CASE(shuffles_with_uneven_rounds) {
  const auto host = suite::numbers(32, 100);
  const Array<int> x(host), y(32);
  uneven_rounds_kernel<<<1, 32>>>(x, y);
  std::vector<int> v(host);
  for (int k = 0; k < 6; ++k) {
    std::vector<int> next(v);
    for (int i = 0; i < 32; ++i)
      if (k < 3 || i >= 16) next[i] = v[i] + v[i ^ 1 << k % 4];
    v = next;
  }
  suite::expect_equal("y", y.host(), v);
}

// Lanes meet in one __syncwarp from two branches.
__global__ void two_branches_kernel(int* y) {
  __shared__ int room[32];
  const int i = threadIdx.x;
  if (i % 2) {
    room[i] = i;
    __syncwarp();
    y[i] = room[i - 1];
  } else {
    room[i] = -i;
    __syncwarp();
    y[i] = room[i + 1];
  }
}
CASE(syncwarp_from_two_branches) {
  const Array<int> y(32);
  two_branches_kernel<<<1, 32>>>(y);
  std::vector<int> wanted;
  for (int i = 0; i < 32; ++i) wanted.push_back(i % 2 ? 1 - i : i + 1);
  suite::expect_equal("y", y.host(), wanted);
}

// A vote from two branches, with the opposite sense in each.
__global__ void vote_apart_kernel(const int* x, unsigned* y) {
  const int i = threadIdx.x;
  unsigned votes;
  if (x[i] > 50) votes = __ballot_sync(kAll, x[i] % 2 == 0);
  else votes = __ballot_sync(kAll, x[i] % 3 != 0);
  y[i] = votes;
}
CASE(vote_from_two_branches) {
  const auto host = suite::numbers(32, 100);
  const Array<int> x(host);
  const Array<unsigned> y(32);
  vote_apart_kernel<<<1, 32>>>(x, y);
  unsigned votes = 0;
  for (int i = 0; i < 32; ++i) votes |= static_cast<unsigned>(host[i] > 50 ? host[i] % 2 == 0 : host[i] % 3 != 0) << i;
  suite::expect_equal("y", y.host(), std::vector<unsigned>(32, votes));
}

// A reader and a writer of different bytes of one word, at the same time.
__global__ void bytes_apart_kernel(unsigned char* x, int* y) {
  const int i = threadIdx.x;
  if (i % 4 == 0) x[i] = 200;
  else y[i] = x[i];
}
CASE(reader_and_writer_of_one_word) {
  const Array<unsigned char> x(64, 7);
  const Array<int> y(64, 0);
  bytes_apart_kernel<<<1, 64>>>(x, y);
  std::vector<int> wanted;
  for (int i = 0; i < 64; ++i) wanted.push_back(i % 4 ? 7 : 0);
  suite::expect_equal("y", y.host(), wanted);
}

// All threads write the same value to one word, as people do with flags.
__global__ void same_value_kernel(const int* x, int* found) {
  if (x[blockIdx.x * blockDim.x + threadIdx.x] == 13) *found = 1;
}
CASE(a_flag_written_by_many) {
  const Array<int> x(suite::numbers(512, 20)), found(1, 0);
  same_value_kernel<<<4, 128>>>(x, found);
  suite::expect_equal("found", found.host(), {1});
}

// A counter that goes round: the last to come resets it for the next launch.
__global__ void rounds_kernel(unsigned* counter, int* y) {
  __shared__ unsigned ticket;
  if (threadIdx.x == 0) ticket = atomicInc(counter, gridDim.x - 1);
  __syncthreads();
  if (ticket == gridDim.x - 1 && threadIdx.x == 0) *y += 1;
}
CASE(counter_that_goes_round) {
  const Array<unsigned> counter(1, 0);
  const Array<int> y(1, 0);
  for (int k = 0; k < 5; ++k) rounds_kernel<<<6, 64>>>(counter, y);
  suite::expect_equal("y", y.host(), {5});
}

// Threads of one warp in different iterations of a spin, each waiting for the lane before it.
__global__ void lanes_in_order_kernel(volatile int* turn, int* order) {
  const int i = threadIdx.x;
  bool done = false;
  while (!done) {
    if (*turn == i) {
      order[i] = i * i;
      __threadfence();
      *turn = i + 1;
      done = true;
    }
  }
}
CASE(lanes_wait_for_the_lane_before) {
  const Array<int> turn(1, 0), order(32);
  lanes_in_order_kernel<<<1, 32>>>(turn, order);
  std::vector<int> wanted;
  for (int i = 0; i < 32; ++i) wanted.push_back(i * i);
  suite::expect_equal("order", order.host(), wanted);
}

// Blocks hand a value on in a ring through flags, each block waiting for two sides.
__global__ void ring_kernel(int* values, int* flags) {
  const int me = blockIdx.x, n = gridDim.x;
  if (threadIdx.x != 0) return;
  if (me == 0) {
    values[0] = 1;
    __threadfence();
    atomicExch(&flags[0], 1);
    while (atomicAdd(&flags[n - 1], 0) == 0) {}
    __threadfence();
    values[n] = values[n - 1] * 3;
  } else {
    while (atomicAdd(&flags[me - 1], 0) == 0) {}
    __threadfence();
    values[me] = values[me - 1] * 2 + me;
    __threadfence();
    atomicExch(&flags[me], 1);
  }
}
CASE(ring_of_blocks) {
  const Array<int> values(6), flags(5, 0);
  ring_kernel<<<5, 32>>>(values, flags);
  suite::expect_equal("values", values.host(), {1, 3, 8, 19, 42, 126});
}

// A loop with a barrier that ends for all at once, by a vote of the block.
__global__ void converge_kernel(int* x, int* rounds) {
  const int i = threadIdx.x;
  __shared__ int room[128];
  room[i] = x[i];
  int n = 0;
  for (;;) {
    __syncthreads();
    const int left = i ? room[i - 1] : 0;
    const bool changes = left > room[i];
    if (!__syncthreads_or(changes)) break;
    if (changes) room[i] = left;
    ++n;
  }
  x[i] = room[i];
  if (i == 0) *rounds = n;
}
CASE(rounds_until_nothing_changes) {
  auto host = suite::numbers(128, 1000);
  const Array<int> x(host), rounds(1);
  converge_kernel<<<1, 128>>>(x, rounds);
  for (int i = 1; i < 128; ++i) host[i] = std::max(host[i], host[i - 1]);
  suite::expect_equal("x", x.host(), host);
}

// Shared memory used twice, as one type before a barrier and another behind it, through one pool.
struct alignas(16) Pool {
  unsigned char bytes[1024];
};
template <class T>
__device__ T* as(Pool& pool) {
  return reinterpret_cast<T*>(pool.bytes);
}
__global__ void pool_kernel(const int* x, double* y) {
  __shared__ Pool pool;
  const int i = threadIdx.x;
  as<int>(pool)[i] = x[i];
  __syncthreads();
  const int v = as<int>(pool)[63 - i];
  __syncthreads();
  as<double>(pool)[i] = v * 0.5;
  __syncthreads();
  y[i] = as<double>(pool)[i ^ 7];
}
CASE(one_pool_for_two_types) {
  const auto host = suite::numbers(64, 1000);
  const Array<int> x(host);
  const Array<double> y(64);
  pool_kernel<<<1, 64>>>(x, y);
  std::vector<double> wanted;
  for (int i = 0; i < 64; ++i) wanted.push_back(host[63 - (i ^ 7)] * 0.5);
  suite::expect_equal("y", y.host(), wanted);
}

// Atomics and plain reads of one location, kept apart by a barrier.
__global__ void tally_kernel(const int* x, int n, int* y) {
  __shared__ int total;
  for (int at = 0; at < n; at += 64) {
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    atomicAdd(&total, x[at + threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 63) y[at / 64] = total;
    __syncthreads();
  }
}
CASE(atomics_between_barriers) {
  const auto host = suite::numbers(256, 1000);
  const Array<int> x(host), y(4);
  tally_kernel<<<1, 64>>>(x, 256, y);
  std::vector<int> wanted(4);
  for (int i = 0; i < 256; ++i) wanted[i / 64] += host[i];
  suite::expect_equal("y", y.host(), wanted);
}

// A pointer that is shared, local or global depending on the lane.
__device__ __noinline__ int generic_sum(const int* p, int n) {
  int sum = 0;
  for (int k = 0; k < n; ++k) sum += p[k];
  return sum;
}
__constant__ int table[4] = {3, 1, 4, 1};
__global__ void generic_kernel(const int* x, int* y) {
  __shared__ int room[4];
  const int i = threadIdx.x;
  if (i < 4) room[i] = i + 10;
  __syncthreads();
  int own[4] = {i, i + 1, i + 2, i + 3};
  const int* p = i % 4 == 0 ? x : i % 4 == 1 ? room : i % 4 == 2 ? own : table;
  y[i] = generic_sum(p, 4);
}
CASE(pointers_into_every_space) {
  const Array<int> x(std::vector<int>{5, 6, 7, 8}), y(32);
  generic_kernel<<<1, 32>>>(x, y);
  std::vector<int> wanted;
  for (int i = 0; i < 32; ++i) wanted.push_back(i % 4 == 0 ? 26 : i % 4 == 1 ? 46 : i % 4 == 2 ? 4 * i + 6 : 9);
  suite::expect_equal("y", y.host(), wanted);
}

// A scan whose tile sums go through global memory from one launch to the next.
__global__ void tiles_kernel(const int* x, int* y, int* sums) {
  const int lane = threadIdx.x % 32, i = blockIdx.x * 32 + lane;
  int v = x[i];
  for (int step = 1; step < 32; step *= 2) {
    const int from = __shfl_up_sync(kAll, v, step);
    v += lane >= step ? from : 0;
  }
  y[i] = v;
  if (lane == 31) sums[blockIdx.x] = v;
}
__global__ void add_kernel(int* y, const int* sums) {
  int before = 0;
  for (unsigned b = 0; b < blockIdx.x; ++b) before += sums[b];
  y[blockIdx.x * 32 + threadIdx.x] += before;
}
CASE(scan_in_two_launches) {
  auto host = suite::numbers(320, 1000);
  const Array<int> x(host), y(320), sums(10);
  tiles_kernel<<<10, 32>>>(x, y, sums);
  add_kernel<<<10, 32>>>(y, sums);
  for (int i = 1; i < 320; ++i) host[i] += host[i - 1];
  suite::expect_equal("y", y.host(), host);
}

// Early exit of threads of a warp that the others do not need any more.
__global__ void search_kernel(const int* x, int n, int wanted, int* at) {
  for (int i = threadIdx.x; i < n; i += 32) {
    if (x[i] == wanted) {
      atomicMin(at, i);
      return;
    }
    if (*static_cast<volatile int*>(at) < i) return;
  }
}
CASE(search_with_early_exit) {
  const auto host = suite::numbers(1000, 100);
  const Array<int> x(host), at(std::vector<int>{1 << 30});
  search_kernel<<<1, 32>>>(x, 1000, 42, at);
  int wanted = 0;
  while (host[wanted] != 42) ++wanted;
  suite::expect_equal("at", at.host(), {wanted});
}
