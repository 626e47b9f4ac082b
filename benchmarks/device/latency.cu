// Latency of each level of memory: one thread follows pointers. And how bandwidth grows with the loads in flight (Little's law).
#include "probe.h"

namespace {

__global__ void link(unsigned* next, unsigned count, unsigned step) {  // next[i] = i + step, around: `count` is a power of two, `step` odd
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) next[i * 32] = ((i + step) & (count - 1)) * 32;
}

template <int level>  // 1: through the L1, 2: past it
__global__ void follow(long long* cycles, const unsigned* next, int n, unsigned* sink) {
  unsigned at = 0;
  for (int k = 0; k < 64; ++k) at = level == 1 ? __ldca(next + at) : __ldcg(next + at);
  const long long from = clock64();
  for (int k = 0; k < n; ++k) at = level == 1 ? __ldca(next + at) : __ldcg(next + at);
  sink[0] = at;
  const long long to = clock64();
  cycles[0] = to - from;
}

__global__ void follow_shared(long long* cycles, int n, unsigned* sink) {
  __shared__ unsigned next[64];
  next[threadIdx.x] = (threadIdx.x * 4 + 28) % 256;
  __syncthreads();
  unsigned at = threadIdx.x * 4;
  const long long from = clock64();
  for (int k = 0; k < n; ++k) at = *reinterpret_cast<volatile unsigned*>(reinterpret_cast<char*>(next) + at);
  sink[threadIdx.x] = at;
  const long long to = clock64();
  cycles[0] = to - from;
}

__global__ void follow_atomic(long long* cycles, unsigned* word, int n, unsigned* sink) {
  unsigned at = 0;
  const long long from = clock64();
  for (int k = 0; k < n; ++k) at = atomicAdd(word + (at & 1), 2u);
  sink[0] = at;
  const long long to = clock64();
  cycles[0] = to - from;
}

__global__ void follow_shared_atomic(long long* cycles, int n, unsigned* sink) {
  __shared__ unsigned word[2];
  word[threadIdx.x & 1] = 0;
  __syncwarp();
  unsigned at = 0;
  const long long from = clock64();
  for (int k = 0; k < n; ++k) at = atomicAdd(word + (at & 1), 2u);
  sink[0] = at;
  const long long to = clock64();
  cycles[0] = to - from;
}

template <class T>
__device__ float sum_of(T v);
template <>
__device__ float sum_of(float v) {
  return v;
}
template <>
__device__ float sum_of(float4 v) {
  return v.x + v.y + v.z + v.w;
}

// Each warp has `ways` loads in flight, no more; neighbours read side by side, the whole grid walks through `count` elements.
template <class T, int ways>
__global__ void stream(const T* x, long count, float* sink, int passes) {
  float sum = 0;
  const long threads = static_cast<long>(gridDim.x) * blockDim.x;
  for (int pass = 0; pass < passes; ++pass)
    for (long i = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x; i + (ways - 1) * threads < count; i += ways * threads) {
      T v[ways];
#pragma unroll
      for (int k = 0; k < ways; ++k) v[k] = __ldcg(x + i + k * threads);
#pragma unroll
      for (int k = 0; k < ways; ++k) sum += sum_of(v[k]);
    }
  if (sum == 12345.0f) sink[0] = sum;
}

template <class T, int ways>
void little(Probe& p, const char* level, size_t bytes, int passes, int threads, int blocks_per_sm) {
  const auto* x = reinterpret_cast<const T*>(p.room);
  const long count = static_cast<long>(bytes / sizeof(T));
  const double us =
      p.us([&] { stream<T, ways><<<p.sms * blocks_per_sm, threads, 0, p.stream>>>(x, count, reinterpret_cast<float*>(p.room), passes); }, 2);
  char label[96];
  std::snprintf(label, sizeof label, "little_%s_%dB_ways%d_warps%d", level, static_cast<int>(sizeof(T)), ways, threads / 32 * blocks_per_sm);
  p.say(label, static_cast<double>(bytes) * passes / us / 1e3, "GB/s");
}

}  // namespace

void probe_latency(Probe& p) {
  auto* out = reinterpret_cast<long long*>(p.room);
  auto* next = reinterpret_cast<unsigned*>(p.room + (1 << 20));
  auto* sink = reinterpret_cast<unsigned*>(p.room + 65536);
  struct Place {
    const char* name;
    unsigned count;  // of 128-byte lines
    int level;
  };
  for (const Place place : {Place{"latency_l1", 64, 1},
                            {"latency_l2_1MB", 1 << 13, 2},
                            {"latency_l2_16MB", 1 << 17, 2},
                            {"latency_dram_256MB", 1 << 21, 2},
                            {"latency_dram_1GB", 1 << 23, 2}}) {
    if ((size_t{place.count} * 128) + (2 << 20) > p.room_bytes) continue;
    link<<<1024, 256, 0, p.stream>>>(next, place.count, place.count > 64 ? (place.count / 8 * 5 + 4097) | 1 : 17);
    const int n = place.count > (1 << 17) ? 20000 : 8192;
    const double cycles = p.cycles(
        [&] { place.level == 1 ? follow<1><<<1, 1, 0, p.stream>>>(out, next, n, sink) : follow<2><<<1, 1, 0, p.stream>>>(out, next, n, sink); }, 1);
    p.say(place.name, cycles / n, "cycles");
  }
  p.say("latency_shared", p.cycles([&] { follow_shared<<<1, 32, 0, p.stream>>>(out, 4096, sink); }, 1) / 4096, "cycles");
  p.say("latency_atomic_global", p.cycles([&] { follow_atomic<<<1, 1, 0, p.stream>>>(out, next, 2048, sink); }, 1) / 2048, "cycles");
  p.say("latency_atomic_shared", p.cycles([&] { follow_shared_atomic<<<1, 32, 0, p.stream>>>(out, 2048, sink); }, 1) / 2048, "cycles");
  for (const int dram : {0, 1}) {
    const char* level = dram ? "dram" : "l2";
    const size_t bytes = dram ? std::min(p.room_bytes, size_t{1} << 29) : size_t{16} << 20;
    const int passes = dram ? 1 : 4;
    for (const int warps : {1, 2, 4, 8, 16, 32, 64}) {
      const int threads = std::min(warps, 8) * 32, blocks = warps / (threads / 32);
      if (blocks * threads > p.properties.maxThreadsPerMultiProcessor) continue;
      little<float, 1>(p, level, bytes, passes, threads, blocks);
      little<float, 4>(p, level, bytes, passes, threads, blocks);
      little<float4, 1>(p, level, bytes, passes, threads, blocks);
      little<float4, 4>(p, level, bytes, passes, threads, blocks);
    }
  }
}
