// Bandwidth of each level of memory, of scattered accesses, of conflicts, and of atomic updates.
#include "probe.h"

namespace {

__global__ void read(const float4* x, long count, float* sink, int passes) {
  float sum = 0;
  const long threads = static_cast<long>(gridDim.x) * blockDim.x;
  for (int pass = 0; pass < passes; ++pass)
#pragma unroll 4
    for (long i = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += threads) {
      const float4 v = __ldcg(x + i);
      sum += v.x + v.y + v.z + v.w;
    }
  if (sum == 12345.0f) sink[0] = sum;
}

__global__ void write(float4* x, long count, int passes) {
  const long threads = static_cast<long>(gridDim.x) * blockDim.x;
  for (int pass = 0; pass < passes; ++pass)
    for (long i = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += threads) x[i] = make_float4(pass, 0, 0, 0);
}

__global__ void copy(const float4* x, float4* y, long count, int passes) {
  const long threads = static_cast<long>(gridDim.x) * blockDim.x;
  for (int pass = 0; pass < passes; ++pass)
#pragma unroll 4
    for (long i = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += threads) y[i] = __ldcg(x + i);
}

// Lanes `stride` words apart: stride 1 is coalesced, 8 takes a sector a lane. Words are walked in an order that spreads over the footprint.
template <bool stores>
__global__ void scattered(float* x, unsigned words, unsigned stride, int n, float* sink) {
  float sum = 0;
  unsigned at = (blockIdx.x * blockDim.x + threadIdx.x) * stride;
#pragma unroll 8
  for (int k = 0; k < n; ++k) {
    if (stores) x[at & (words - 1)] = 1.0f;
    else sum += __ldcg(x + (at & (words - 1)));
    at += 0x9e3779b1u & ~31u;
  }
  if (sum == 12345.0f) sink[0] = sum;
}

template <class T>
__global__ void from_l1(long long* cycles, const T* x, int stride, int n, float* sink) {
  float sum = 0;
  const T* at = x + threadIdx.x % 32 * stride;
  for (int k = 0; k < 4; ++k) sum += reinterpret_cast<const float&>(at[k]);
  __syncthreads();
  const long long from = clock64();
  for (int k = 0; k < n; ++k)
#pragma unroll
    for (int u = 0; u < 8; ++u) {
      T v;
      if constexpr (sizeof(T) == 4) asm volatile("ld.global.ca.f32 %0, [%1];" : "=f"(v) : "l"(at + u * 32 * stride));
      else asm volatile("ld.global.ca.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(at + u * 32));
      sum += reinterpret_cast<const float&>(v);
    }
  __syncthreads();
  const long long to = clock64();
  if (threadIdx.x == 0) cycles[blockIdx.x] = to - from;
  if (sum == 12345.0f) sink[0] = sum;
}

template <int bytes, bool stores>
__global__ void in_shared(long long* cycles, int stride, int n, float* sink) {
  __shared__ float4 room[2048];
  for (int k = threadIdx.x; k < 2048; k += blockDim.x) room[k] = make_float4(0, 0, 0, 0);
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(room)) + threadIdx.x % 32 * stride;
  float sum = 0;
  __syncthreads();
  const long long from = clock64();
  for (int k = 0; k < n; ++k)
#pragma unroll
    for (int u = 0; u < 8; ++u) {
      float a = 0, b = 0, c = 0, d = 0;
      if constexpr (stores && bytes == 4) asm volatile("st.shared.f32 [%0], %1;" ::"r"(at + u * 512), "f"(sum));
      else if constexpr (stores) asm volatile("st.shared.v4.f32 [%0], {%1,%1,%1,%1};" ::"r"(at + u * 512), "f"(sum));
      else if constexpr (bytes == 4) asm volatile("ld.shared.f32 %0, [%1];" : "=f"(a) : "r"(at + u * 512));
      else asm volatile("ld.shared.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "r"(at + u * 512));
      if (!stores) sum += a;
    }
  __syncthreads();
  const long long to = clock64();
  if (threadIdx.x == 0) cycles[blockIdx.x] = to - from;
  if (sum == 12345.0f) sink[0] = sum;
}

enum Where { same, by_lane, by_block, spread };

template <int kind, class T>  // 0: nothing comes back, 1: the old value does, 2: compare and swap
__global__ void atomics(T* x, Where where, int n, T* sink) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  T sum = 0;
  for (int k = 0; k < n; ++k) {
    const unsigned at = where == same       ? 0
                        : where == by_lane  ? threadIdx.x & 31
                        : where == by_block ? blockIdx.x * 32
                                            : (thread + k * 8192) & ((1 << 20) - 1);
    if constexpr (kind == 0) atomicAdd(x + at, T(1));
    else if constexpr (kind == 1) sum += atomicAdd(x + at, T(k + 1));
    else sum += atomicCAS(x + at, T(k), T(k + 1));
  }
  if (kind && sum == T(12345)) sink[0] = sum;
}

template <class T>
__global__ void shared_atomics(long long* cycles, int spread, int n, T* sink) {
  __shared__ T room[1024];
  room[threadIdx.x] = 0;
  __syncthreads();
  const long long from = clock64();
#pragma unroll 4
  for (int k = 0; k < n; ++k) atomicAdd(room + (spread ? (threadIdx.x * spread + k) % 1024 : 0), T(1));
  __syncthreads();
  const long long to = clock64();
  if (threadIdx.x == 0) cycles[blockIdx.x] = to - from;
  sink[threadIdx.x] = room[threadIdx.x];
}

void say_rate(Probe& p, const char* name, double bytes, double us) { p.say(name, bytes / us / 1e3, "GB/s"); }

template <int kind, class T>
void atomic_rate(Probe& p, const char* name, Where where, int n) {
  auto* x = reinterpret_cast<T*>(p.room);
  auto* sink = reinterpret_cast<T*>(p.room + p.room_bytes / 2);
  const int blocks = p.sms * 4;
  const double us = p.us([&] { atomics<kind, T><<<blocks, 256, 0, p.stream>>>(x, where, n, sink); }, 3);
  p.say(name, 1e-3 * blocks * 256.0 * n / us, "lane updates per ns");
}

}  // namespace

void probe_memory(Probe& p) {
  auto* x = reinterpret_cast<float4*>(p.room);
  auto* sink = reinterpret_cast<float*>(p.room);
  const int blocks = p.sms * (p.properties.maxThreadsPerMultiProcessor / 256);
  const size_t big = std::min(p.room_bytes / 2, size_t{1} << 30);
  const long n = static_cast<long>(big / 16);
  say_rate(p, "dram_read", big, p.us([&] { read<<<blocks, 256, 0, p.stream>>>(x, n, sink, 1); }));
  say_rate(p, "dram_write", big, p.us([&] { write<<<blocks, 256, 0, p.stream>>>(x, n, 1); }));
  say_rate(p, "dram_copy", 2.0 * big, p.us([&] { copy<<<blocks, 256, 0, p.stream>>>(x, x + n, n, 1); }));
  for (const int mb : {2, 8, 16, 24, 32, 40, 48, 64, 96}) {
    if (size_t(mb) << 20 > p.room_bytes) continue;
    const long some = (static_cast<long>(mb) << 20) / 16;
    char label[64];
    std::snprintf(label, sizeof label, "read_%dMB_again", mb);
    const int passes = std::max(1, 128 / mb);
    say_rate(p, label, 16.0 * some * passes, p.us([&] { read<<<blocks, 256, 0, p.stream>>>(x, some, sink, passes); }, 3));
  }
  const long some = (long{16} << 20) / 16;
  say_rate(p, "l2_write_16MB", 16.0 * some * 8, p.us([&] { write<<<blocks, 256, 0, p.stream>>>(x, some, 8); }, 3));
  say_rate(p, "l2_copy_8MB", 16.0 * some * 8, p.us([&] { copy<<<blocks, 256, 0, p.stream>>>(x, x + some, some / 2, 8); }, 3));
  say_rate(p, "l2_read_of_one_sm", 16.0 * some, p.us([&] { read<<<1, 1024, 0, p.stream>>>(x, some, sink, 1); }, 2));
  say_rate(p, "dram_read_of_one_sm", 16.0 * some,
           p.us([&] { read<<<1, 1024, 0, p.stream>>>(reinterpret_cast<float4*>(p.room + p.room_bytes / 2), some, sink, 1); }, 1));
  const auto far = static_cast<unsigned>(std::min(p.room_bytes / 4, size_t{1} << 28));  // words, a power of two
  for (const int stride : {1, 2, 8, 32}) {
    char label[64];
    const int per_thread = 64;
    const double accesses = static_cast<double>(blocks) * 256 * per_thread;
    const double sector_bytes = 4.0 * std::min(stride, 8) * accesses;
    std::snprintf(label, sizeof label, "l2_scattered_read_stride%d", stride);
    say_rate(p, label, sector_bytes, p.us([&] { scattered<false><<<blocks, 256, 0, p.stream>>>(sink, 1u << 22, stride, per_thread, sink); }, 3));
    std::snprintf(label, sizeof label, "dram_scattered_read_stride%d", stride);
    say_rate(p, label, sector_bytes, p.us([&] { scattered<false><<<blocks, 256, 0, p.stream>>>(sink, far, stride, per_thread, sink); }, 2));
    std::snprintf(label, sizeof label, "l2_scattered_write_stride%d", stride);
    say_rate(p, label, sector_bytes, p.us([&] { scattered<true><<<blocks, 256, 0, p.stream>>>(sink, 1u << 22, stride, per_thread, sink); }, 3));
    std::snprintf(label, sizeof label, "dram_scattered_write_stride%d", stride);
    say_rate(p, label, sector_bytes, p.us([&] { scattered<true><<<blocks, 256, 0, p.stream>>>(sink, far, stride, per_thread, sink); }, 2));
  }
  auto* out = reinterpret_cast<long long*>(p.room);
  auto* words = reinterpret_cast<float*>(p.room + (1 << 20));
  char label[64];
  for (const int stride : {0, 1, 2, 4, 8, 32}) {
    std::snprintf(label, sizeof label, "l1_read_4B_stride%d", stride);
    const double cycles = p.cycles([&] { from_l1<float><<<p.sms, 1024, 0, p.stream>>>(out, words, stride, 64, sink + 4096); }, p.sms);
    p.say(label, 32.0 * 64 * 8 / cycles, "warp loads per cycle and SM");
  }
  p.say("l1_read_16B", 32.0 * 64 * 8 / p.cycles([&] { from_l1<float4><<<p.sms, 1024, 0, p.stream>>>(out, x + 65536, 1, 64, sink + 4096); }, p.sms),
        "warp loads per cycle and SM");
  for (const int stride : {4, 8, 16, 64, 128}) {
    std::snprintf(label, sizeof label, "shared_read_4B_stride%d", stride);
    p.say(label, 32.0 * 64 * 8 / p.cycles([&] { in_shared<4, false><<<p.sms, 1024, 0, p.stream>>>(out, stride, 64, sink + 4096); }, p.sms),
          "warp loads per cycle and SM");
  }
  p.say("shared_read_16B", 32.0 * 64 * 8 / p.cycles([&] { in_shared<16, false><<<p.sms, 1024, 0, p.stream>>>(out, 16, 64, sink + 4096); }, p.sms),
        "warp loads per cycle and SM");
  p.say("shared_write_4B", 32.0 * 64 * 8 / p.cycles([&] { in_shared<4, true><<<p.sms, 1024, 0, p.stream>>>(out, 4, 64, sink + 4096); }, p.sms),
        "warp stores per cycle and SM");
  p.say("shared_write_16B", 32.0 * 64 * 8 / p.cycles([&] { in_shared<16, true><<<p.sms, 1024, 0, p.stream>>>(out, 16, 64, sink + 4096); }, p.sms),
        "warp stores per cycle and SM");
  atomic_rate<0, unsigned>(p, "red_u32_same", same, 16);
  atomic_rate<0, unsigned>(p, "red_u32_by_lane", by_lane, 16);
  atomic_rate<0, unsigned>(p, "red_u32_by_block", by_block, 64);
  atomic_rate<0, unsigned>(p, "red_u32_spread", spread, 64);
  atomic_rate<1, unsigned>(p, "atom_u32_same", same, 16);
  atomic_rate<1, unsigned>(p, "atom_u32_spread", spread, 64);
  atomic_rate<2, unsigned>(p, "cas_u32_same", same, 16);
  atomic_rate<0, float>(p, "red_f32_same", same, 16);
  atomic_rate<0, float>(p, "red_f32_by_lane", by_lane, 16);
  atomic_rate<0, float>(p, "red_f32_by_block", by_block, 64);
  atomic_rate<0, float>(p, "red_f32_spread", spread, 64);
  atomic_rate<0, double>(p, "red_f64_same", same, 16);
  atomic_rate<0, double>(p, "red_f64_spread", spread, 64);
  for (const int spread_by : {0, 1, 32}) {
    std::snprintf(label, sizeof label, "shared_atomic_u32_spread%d", spread_by);
    p.say(
        label,
        32.0 * 256 /
            p.cycles([&] { shared_atomics<unsigned><<<p.sms, 1024, 0, p.stream>>>(out, spread_by, 256, reinterpret_cast<unsigned*>(words)); }, p.sms),
        "warp updates per cycle and SM");
    std::snprintf(label, sizeof label, "shared_atomic_f32_spread%d", spread_by);
    p.say(label, 32.0 * 64 / p.cycles([&] { shared_atomics<float><<<p.sms, 1024, 0, p.stream>>>(out, spread_by, 64, words); }, p.sms),
          "warp updates per cycle and SM");
  }
}
