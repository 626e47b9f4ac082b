// CUDA's threads on the host, for the kernels that the generator makes: a block is a set of fibers that run until a barrier, one after the other.
// Nothing here comes from the engine or its toolkit: it is the second opinion.
#pragma once
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define __global__
#define __device__
#define __noinline__ __attribute__((noinline))
#define __shared__ static

namespace fibers {

constexpr int block = 96;
struct Index {
  unsigned x;
};
inline Index thread_index, block_index;
inline ucontext_t scheduler, fiber[block];
inline std::vector<char> stacks[block];
inline bool finished[block];
inline void (*body)();
inline uint64_t exchanged[block];

inline void wait() { swapcontext(&fiber[thread_index.x], &scheduler); }
inline void entry() {
  body();
  finished[thread_index.x] = true;
  swapcontext(&fiber[thread_index.x], &scheduler);
}
// Every fiber goes on to its next barrier before any goes past it.
inline void run_block(unsigned number, void (*kernel)()) {
  body = kernel;
  block_index.x = number;
  for (int t = 0; t < block; ++t) {
    stacks[t].resize(1 << 16);
    finished[t] = false;
    getcontext(&fiber[t]);
    fiber[t].uc_stack.ss_sp = stacks[t].data();
    fiber[t].uc_stack.ss_size = stacks[t].size();
    fiber[t].uc_link = nullptr;
    makecontext(&fiber[t], entry, 0);
  }
  for (bool more = true; more;) {
    more = false;
    for (int t = 0; t < block; ++t) {
      if (finished[t]) continue;
      thread_index.x = static_cast<unsigned>(t);
      swapcontext(&scheduler, &fiber[t]);
      more |= !finished[t];
    }
  }
}

template <class T>
T exchange(T mine, int lane) {
  const int self = static_cast<int>(thread_index.x);
  exchanged[self] = 0;
  std::memcpy(&exchanged[self], &mine, sizeof mine);
  wait();
  T theirs;
  std::memcpy(&theirs, &exchanged[self / 32 * 32 + lane], sizeof theirs);
  wait();
  return theirs;
}

}  // namespace fibers

#define threadIdx fibers::thread_index
#define blockIdx fibers::block_index
inline void __syncthreads() { fibers::wait(); }
inline void __syncwarp() { fibers::wait(); }
inline int lane_of() { return static_cast<int>(threadIdx.x & 31); }
template <class T>
T __shfl_sync(unsigned, T v, int from) {
  return fibers::exchange(v, from & 31);
}
template <class T>
T __shfl_xor_sync(unsigned, T v, int mask) {
  return fibers::exchange(v, lane_of() ^ mask);
}
template <class T>
T __shfl_up_sync(unsigned, T v, unsigned by) {
  const int from = lane_of() - static_cast<int>(by);
  return fibers::exchange(v, from < 0 ? lane_of() : from);
}
template <class T>
T __shfl_down_sync(unsigned, T v, unsigned by) {
  const int from = lane_of() + static_cast<int>(by);
  return fibers::exchange(v, from > 31 ? lane_of() : from);
}
inline unsigned __ballot_sync(unsigned, bool p) {
  const int self = static_cast<int>(threadIdx.x);
  fibers::exchanged[self] = p;
  fibers::wait();
  unsigned all = 0;
  for (int l = 0; l < 32; ++l) all |= static_cast<unsigned>(fibers::exchanged[self / 32 * 32 + l]) << l;
  fibers::wait();
  return all;
}
inline unsigned __reduce_add_sync(unsigned mask, unsigned v) {
  unsigned sum = 0;
  for (int l = 0; l < 32; ++l) sum += __shfl_sync(mask, v, l);
  return sum;
}
inline int __syncthreads_count(bool p) {
  const int self = static_cast<int>(threadIdx.x);
  fibers::exchanged[self] = p;
  fibers::wait();
  int all = 0;
  for (int t = 0; t < fibers::block; ++t) all += static_cast<int>(fibers::exchanged[t]);
  fibers::wait();
  return all;
}
inline void atomicAdd(unsigned* at, unsigned v) { *at += v; }
inline void atomicXor(unsigned* at, unsigned v) { *at ^= v; }
inline void atomicMax(unsigned* at, unsigned v) { *at = std::max(*at, v); }

inline int __popc(unsigned a) { return __builtin_popcount(a); }
inline int __popcll(unsigned long long a) { return __builtin_popcountll(a); }
inline int __clz(int a) { return a ? __builtin_clz(static_cast<unsigned>(a)) : 32; }
inline int __clzll(long long a) { return a ? __builtin_clzll(static_cast<unsigned long long>(a)) : 64; }
inline int __ffs(int a) { return __builtin_ffs(a); }
inline unsigned __brev(unsigned a) {
  unsigned r = 0;
  for (int k = 0; k < 32; ++k) r |= (a >> k & 1) << (31 - k);
  return r;
}
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>(uint64_t{a} * b >> 32); }
inline int __mulhi(int a, int b) { return static_cast<int>(int64_t{a} * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
  const uint64_t both = uint64_t{b} << 32 | a;
  unsigned r = 0;
  for (int k = 0; k < 4; ++k) r |= static_cast<unsigned>(both >> 8 * (s >> 4 * k & 7) & 255) << 8 * k;
  return r;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned n) { return static_cast<unsigned>((uint64_t{high} << 32 | low) << (n & 31) >> 32); }
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned n) { return static_cast<unsigned>((uint64_t{high} << 32 | low) >> (n & 31)); }
inline unsigned __float_as_uint(float f) {
  unsigned u;
  std::memcpy(&u, &f, 4);
  return u;
}
inline float __uint_as_float(unsigned u) {
  float f;
  std::memcpy(&f, &u, 4);
  return f;
}
inline unsigned long long __double_as_longlong(double d) {
  unsigned long long u;
  std::memcpy(&u, &d, 8);
  return u;
}
inline double __longlong_as_double(long long u) {
  double d;
  std::memcpy(&d, &u, 8);
  return d;
}
inline unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
inline unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }
inline int min(int a, int b) { return a < b ? a : b; }
inline int max(int a, int b) { return a > b ? a : b; }
// Minus zero is below zero, which C leaves open.
template <class T>
T lower_of(T a, T b) {
  return a != a ? b : b != b ? a : a == b ? (std::signbit(a) ? a : b) : a < b ? a : b;
}
template <class T>
T upper_of(T a, T b) {
  return a != a ? b : b != b ? a : a == b ? (std::signbit(a) ? b : a) : a > b ? a : b;
}
#define HOST 1
