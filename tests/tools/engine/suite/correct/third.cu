// Less common parts of the language and the library; each case knows its own truth.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/atomic>
#include <cuda/latch>
#include <cuda/semaphore>
#include <cuda/std/array>
#include <cuda/std/tuple>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <new>

#include "../suite.cuh"

namespace cg = cooperative_groups;
using suite::Array;

// A large structure by value, indexed by data; its address is taken.
struct Parameters {
  int table[200];
  double scale;
  const int* x;
};
__device__ __noinline__ int pick(const int* table, int at) { return table[at]; }
__global__ void by_value_kernel(const __grid_constant__ Parameters p, double* y) {
  const int i = threadIdx.x;
  y[i] = (pick(p.table, p.x[i]) + p.table[i]) * p.scale;
}
CASE(large_structure_by_value) {
  const auto host = suite::numbers(64, 200);
  const Array<int> x(host);
  const Array<double> y(64);
  Parameters p;
  for (int i = 0; i < 200; ++i) p.table[i] = i * i;
  p.scale = 0.25;
  p.x = x;
  by_value_kernel<<<1, 64>>>(p, y);
  std::vector<double> wanted;
  for (int i = 0; i < 64; ++i) wanted.push_back((host[i] * host[i] + i * i) * 0.25);
  suite::expect_equal("y", y.host(), wanted);
}

// Atomics of 16 and 128 bits, of vectors, of halves, of narrower and wider scopes.
__global__ void wide_atomics_kernel(unsigned short* s, float4* f, __half* h, __nv_bfloat16* b, int* scopes, float2* f2) {
  const int i = threadIdx.x;
  unsigned short seen = s[0], before;
  do {
    before = seen;
    seen = atomicCAS(s, before, static_cast<unsigned short>(before + i));
  } while (seen != before);
  atomicAdd(f, make_float4(1, 2, 3, i));
  atomicAdd(f2, make_float2(i, 1));
  atomicAdd(h, __float2half(1.f));
  atomicAdd(b, __float2bfloat16(1.f));
  atomicAdd_block(&scopes[0], i);
  atomicAdd_system(&scopes[1], 1);
  atomicMax_system(&scopes[2], i);
}
CASE(atomics_of_unusual_widths) {
  const Array<unsigned short> s(2, 0);
  const Array<float> f(4, 0), f2(2, 0);
  const Array<__half> h(2, 0);
  const Array<__nv_bfloat16> b(2, 0);
  const Array<int> scopes(3, 0);
  wide_atomics_kernel<<<1, 64>>>(s, reinterpret_cast<float4*>(f.get()), h, b, scopes, reinterpret_cast<float2*>(f2.get()));
  suite::expect("short", s.host()[0] == 2016);
  suite::expect_equal("f", f.host(), {64, 128, 192, 2016});
  suite::expect_equal("f2", f2.host(), {2016, 64});
  suite::expect("half", __half2float(h.host()[0]) == 64);
  suite::expect("bfloat", __bfloat162float(b.host()[0]) == 64);
  suite::expect_equal("scopes", scopes.host(), {2016, 64, 63});
}

// Loads and stores with every cache hint that CUDA C++ names.
__global__ void hints_kernel(const int* __restrict__ x, int* y) {
  const int i = threadIdx.x;
  const int a = __ldg(&x[i]) + __ldcg(&x[i]) + __ldca(&x[i]) + __ldcs(&x[i]) + __ldlu(&x[i]) + __ldcv(&x[i]);
  asm volatile("prefetch.global.L2 [%0];" ::"l"(x + i));
  __stwb(&y[4 * i], a);
  __stcg(&y[4 * i + 1], a);
  __stcs(&y[4 * i + 2], a);
  __stwt(&y[4 * i + 3], a);
}
CASE(cache_hints) {
  const auto host = suite::numbers(64, 200);
  const Array<int> x(host), y(256);
  hints_kernel<<<1, 64>>>(x, y);
  std::vector<int> wanted;
  for (int i = 0; i < 256; ++i) wanted.push_back(host[i / 4] * 6);
  suite::expect_equal("y", y.host(), wanted);
}

// A latch and a semaphore of the library, in shared memory.
__global__ void latch_kernel(int* y) {
  using Latch = cuda::latch<cuda::thread_scope_block>;
  using Semaphore = cuda::counting_semaphore<cuda::thread_scope_block, 4>;
  __shared__ alignas(16) unsigned char places[2][64];
  auto& latch = *reinterpret_cast<Latch*>(places[0]);
  auto& semaphore = *reinterpret_cast<Semaphore*>(places[1]);
  __shared__ int room[64], total;
  if (threadIdx.x == 0) {
    new (&latch) Latch(64);
    new (&semaphore) Semaphore(1);
    total = 0;
  }
  __syncthreads();
  room[threadIdx.x] = threadIdx.x;
  latch.arrive_and_wait();
  const int v = room[63 - threadIdx.x];
  if (threadIdx.x % 32 == 0) {
    semaphore.acquire();
    total += v;
    semaphore.release();
  }
  __syncthreads();
  y[threadIdx.x] = total + v;
}
CASE(latch_and_semaphore) {
  const Array<int> y(64);
  latch_kernel<<<1, 64>>>(y);
  std::vector<int> wanted;
  for (int i = 0; i < 64; ++i) wanted.push_back(63 + 31 + 63 - i);
  suite::expect_equal("y", y.host(), wanted);
}

// A lock that sleeps between its attempts, longer each time.
__global__ void sleepy_kernel(int* lock, int* y) {
  unsigned wait = 8;
  for (;;) {
    if (atomicExch(lock, 1) == 0) {
      __threadfence();
      *y += 1;
      __threadfence();
      atomicExch(lock, 0);
      return;
    }
    __nanosleep(wait);
    wait = min(wait * 2, 256u);
  }
}
CASE(lock_with_sleep) {
  const Array<int> lock(1, 0), y(1, 0);
  sleepy_kernel<<<3, 40>>>(lock, y);
  suite::expect_equal("y", y.host(), {120});
}

// The block's barrier in two halves, and the grid's.
__global__ void split_kernel(int* x, int* y) {
  __shared__ int room[64];
  auto block = cg::this_thread_block();
  auto grid = cg::this_grid();
  const int i = threadIdx.x, at = blockIdx.x * 64 + i;
  room[i] = i;
  auto token = block.barrier_arrive();
  x[at] = at * 2;
  block.barrier_wait(std::move(token));
  auto all = grid.barrier_arrive();
  const int v = room[63 - i];
  grid.barrier_wait(std::move(all));
  y[at] = v + x[255 - at];
}
CASE(barriers_of_groups_in_two_halves) {
  const Array<int> x(256), y(256);
  int *px = x, *py = y;
  void* arguments[] = {&px, &py};
  cudaLaunchCooperativeKernel(reinterpret_cast<void*>(split_kernel), dim3(4), dim3(64), arguments, 0, nullptr);
  std::vector<int> wanted;
  for (int i = 0; i < 256; ++i) wanted.push_back(63 - i % 64 + (255 - i) * 2);
  suite::expect_equal("y", y.host(), wanted);
}

// Integers of 128 bits.
__global__ void wide_kernel(const long long* x, unsigned long long* y) {
  const int i = threadIdx.x;
  const __int128 a = static_cast<__int128>(x[i]) * 1000000007ll * 998244353, b = x[i] % 1000 + 7;
  const __int128 q = a / b, r = a % b;
  y[i] = static_cast<unsigned long long>(q >> 20) ^ static_cast<unsigned long long>(r) ^ static_cast<unsigned long long>(a >> 64);
}
CASE(integers_of_128_bits) {
  std::vector<long long> host;
  std::vector<unsigned long long> wanted;
  for (const int v : suite::numbers(64, 1 << 23)) host.push_back(v * 1234567891ll);
  for (const long long v : host) {
    const __int128 a = static_cast<__int128>(v) * 1000000007ll * 998244353, b = v % 1000 + 7, q = a / b, r = a % b;
    wanted.push_back(static_cast<unsigned long long>(q >> 20) ^ static_cast<unsigned long long>(r) ^ static_cast<unsigned long long>(a >> 64));
  }
  const Array<long long> x(host);
  const Array<unsigned long long> y(64);
  wide_kernel<<<1, 64>>>(x, y);
  suite::expect_equal("y", y.host(), wanted);
}

// Control flow that no structured language has: jumps into the middle of each other's loops.
__host__ __device__ int wander(int v) {
  int steps = 0;
  if (v % 2) goto middle;
first:
  v = v * 3 + 1;
  ++steps;
middle:
  v /= 2;
  if (++steps > 40) return v;
  if (v % 3 == 0) goto first;
  if (v % 5 == 0) goto last;
  if (v > 3) goto middle;
last:
  v += 7;
  if (steps++ < 20 && v % 7) goto first;
  return v * 100 + steps;
}
__global__ void wander_kernel(const int* x, int* y) { y[threadIdx.x] = wander(x[threadIdx.x]); }
CASE(jumps_into_loops) {
  const auto host = suite::numbers(64, 10000);
  const Array<int> x(host), y(64);
  wander_kernel<<<1, 64>>>(x, y);
  std::vector<int> wanted;
  for (const int v : host) wanted.push_back(wander(v));
  suite::expect_equal("y", y.host(), wanted);
}

// Addresses asked for their space, and turned into each other.
__global__ void spaces_kernel(int* global, unsigned* y) {
  __shared__ int room[32];
  int own = threadIdx.x;
  int* p = threadIdx.x % 3 == 0 ? global : threadIdx.x % 3 == 1 ? room : &own;
  room[threadIdx.x] = 0;
  __syncwarp();
  y[threadIdx.x] = __isGlobal(p) + 2 * __isShared(p) + 4 * __isLocal(p) + 8 * (__cvta_shared_to_generic(__cvta_generic_to_shared(room)) == room);
}
CASE(spaces_of_addresses) {
  const Array<int> global(1, 0);
  const Array<unsigned> y(32);
  spaces_kernel<<<1, 32>>>(global, y);
  std::vector<unsigned> wanted;
  for (int i = 0; i < 32; ++i) wanted.push_back(8 + (i % 3 == 0 ? 1 : i % 3 == 1 ? 2 : 4));
  suite::expect_equal("y", y.host(), wanted);
}

// What the library has of std, on the device.
__global__ void std_kernel(const int* x, int* y) {
  const int i = threadIdx.x;
  cuda::std::array<int, 5> all{};
  for (int k = 0; k < 5; ++k) all[(x[i] + k) % 5] = k * i;
  const auto t = cuda::std::make_tuple(all[1], static_cast<short>(all[2]), all[4] * 2ll);
  y[i] = cuda::std::get<0>(t) + cuda::std::get<1>(t) * 3 + static_cast<int>(cuda::std::get<2>(t));
}
CASE(arrays_and_tuples_of_the_library) {
  const auto host = suite::numbers(64, 1000);
  const Array<int> x(host), y(64);
  std_kernel<<<1, 64>>>(x, y);
  std::vector<int> wanted;
  for (int i = 0; i < 64; ++i) {
    int all[5];
    for (int k = 0; k < 5; ++k) all[(host[i] + k) % 5] = k * i;
    wanted.push_back(all[1] + all[2] * 3 + all[4] * 2);
  }
  suite::expect_equal("y", y.host(), wanted);
}

// Waiting for a value and waking those who wait.
__global__ void notify_kernel(int* flag, int* data, int* y) {
  cuda::atomic_ref<int, cuda::thread_scope_device> f(*flag);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    for (int k = 0; k < 8; ++k) data[k] = k * 5;
    f.store(1, cuda::memory_order_release);
    f.notify_all();
  } else if (blockIdx.x > 0) {
    f.wait(0, cuda::memory_order_acquire);
    y[(blockIdx.x - 1) * 32 + threadIdx.x] = data[threadIdx.x % 8];
  }
}
CASE(waiting_for_a_value) {
  const Array<int> flag(1, 0), data(8), y(64);
  notify_kernel<<<3, 32>>>(flag, data, y);
  std::vector<int> wanted;
  for (int i = 0; i < 64; ++i) wanted.push_back(i % 8 * 5);
  suite::expect_equal("y", y.host(), wanted);
}

// A matrix through ldmatrix with transposition, and back through stmatrix.
__global__ void matrices_kernel(const __half* x, __half* y) {
  __shared__ alignas(16) __half in[64], out[64];
  const int i = threadIdx.x;
  in[2 * i] = x[2 * i];
  in[2 * i + 1] = x[2 * i + 1];
  __syncwarp();
  unsigned piece;
  const auto address = [](const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); };
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(piece) : "r"(address(&in[i % 8 * 8])));
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(address(&out[i % 8 * 8])), "r"(piece) : "memory");
  __syncwarp();
  y[2 * i] = out[2 * i];
  y[2 * i + 1] = out[2 * i + 1];
}
CASE(matrix_transposed_on_its_way) {
  const Array<__half> x(suite::whole<__half>(64, 1000)), y(64);
  matrices_kernel<<<1, 32>>>(x, y);
  const auto from = x.host(), to = y.host();
  bool good = true;
  for (int r = 0; r < 8; ++r)
    for (int c = 0; c < 8; ++c) good &= __half2float(to[r * 8 + c]) == __half2float(from[c * 8 + r]);
  suite::expect("y", good);
}
