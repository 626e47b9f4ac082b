// Issue rates (independent instructions, a full SM) and latencies (one warp, each result the next operand) of arithmetic, and of barriers.
#include "probe.h"

namespace {

constexpr int rounds = 256;

// Each operation keeps its operands in `x`; asm volatile, so that nothing is folded.
struct Ffma {
  using T = float;
  static __device__ void go(T& x) { asm volatile("fma.rn.f32 %0, %0, 0f3F7FFFFE, 0f33800000;" : "+f"(x)); }
};
struct Fadd {
  using T = float;
  static __device__ void go(T& x) { asm volatile("add.f32 %0, %0, 0f33800000;" : "+f"(x)); }
};
struct Dfma {
  using T = double;
  static __device__ void go(T& x) { asm volatile("fma.rn.f64 %0, %0, %0, %0;" : "+d"(x)); }
};
struct Hfma2 {
  using T = unsigned;
  static __device__ void go(T& x) { asm volatile("fma.rn.f16x2 %0, %0, %0, %0;" : "+r"(x)); }
};
struct Imad {
  using T = unsigned;
  static __device__ void go(T& x) { asm volatile("mad.lo.u32 %0, %0, %0, %0;" : "+r"(x)); }
};
struct Lop3 {
  using T = unsigned;
  static __device__ void go(T& x) { asm volatile("lop3.b32 %0, %0, 0x55, 0x1234567, 0x96;" : "+r"(x)); }
};
struct Iadd {
  using T = unsigned;
  static __device__ void go(T& x) { asm volatile("{.reg .b32 t; xor.b32 t, %0, 0x77; add.u32 %0, t, %0;}" : "+r"(x)); }  // two
};
struct Shift {
  using T = unsigned;
  static __device__ void go(T& x) { asm volatile("shf.l.wrap.b32 %0, %0, %0, 7;" : "+r"(x)); }
};
struct Ex2 {
  using T = float;
  static __device__ void go(T& x) { asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x)); }
};
struct Rcp {
  using T = float;
  static __device__ void go(T& x) { asm volatile("rcp.approx.ftz.f32 %0, %0;" : "+f"(x)); }
};
struct Popc {
  using T = unsigned;
  static __device__ void go(T& x) { asm volatile("popc.b32 %0, %0;" : "+r"(x)); }
};
struct Convert {
  using T = unsigned;
  static __device__ void go(T& x) { asm volatile("{.reg .f32 t; mov.b32 t, %0; cvt.rzi.s32.f32 %0, t;}" : "+r"(x)); }
};
struct Shuffle {
  using T = unsigned;
  static __device__ void go(T& x) { asm volatile("shfl.sync.bfly.b32 %0, %0, 1, 31, -1;" : "+r"(x)); }
};
struct Vote {
  using T = unsigned;
  static __device__ void go(T& x) { x = __ballot_sync(~0u, x & 1); }
};
struct Divide {  // a whole IEEE division
  using T = float;
  static __device__ void go(T& x) { asm volatile("div.rn.f32 %0, 0f3F8CCCCD, %0;" : "+f"(x)); }
};

template <class Op, int ways>
__global__ void arithmetic(long long* cycles, typename Op::T* sink, int n) {
  typename Op::T x[ways];
  for (int k = 0; k < ways; ++k) x[k] = static_cast<typename Op::T>(threadIdx.x + k + 1);
  __syncthreads();
  const long long from = clock64();
  for (int r = 0; r < n; ++r)
#pragma unroll
    for (int u = 0; u < 32 / ways; ++u)
#pragma unroll
      for (int k = 0; k < ways; ++k) Op::go(x[k]);
  __syncthreads();
  const long long to = clock64();
  if (threadIdx.x == 0) cycles[blockIdx.x] = to - from;
  for (int k = 0; k < ways; ++k)
    if (x[k] == static_cast<typename Op::T>(12345)) sink[threadIdx.x] = x[k];
}

template <class Op>
void rate(Probe& p, const char* name, int n = rounds) {
  auto* sink = reinterpret_cast<typename Op::T*>(p.room + (1 << 20));
  auto* out = reinterpret_cast<long long*>(p.room);
  char label[80];
  const double many = p.cycles([&] { arithmetic<Op, 8><<<p.sms, 1024, 0, p.stream>>>(out, sink, n); }, p.sms);
  std::snprintf(label, sizeof label, "rate_%s", name);
  p.say(label, 32.0 * n * 32 / many, "warp instructions per cycle and SM");
  const double one = p.cycles([&] { arithmetic<Op, 1><<<1, 32, 0, p.stream>>>(out, sink, n); }, 1);
  std::snprintf(label, sizeof label, "latency_%s", name);
  p.say(label, one / (32.0 * n), "cycles");
}

template <int kind>
__device__ void multiply(float (&d)[4], double (&e)[2]) {
  if constexpr (kind == 0)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%4,%4}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(0));
  else if constexpr (kind == 1)
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%4,%4}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(0));
  else asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%2}, {%0,%1};" : "+d"(e[0]), "+d"(e[1]) : "d"(0.0));
}

template <int kind, int ways>
__global__ void tensor(long long* cycles, float* sink, int n) {
#if __CUDA_ARCH__ >= 800
  float d[ways][4] = {};
  double e[ways][2] = {};
  __syncthreads();
  const long long from = clock64();
  for (int r = 0; r < n; ++r)
#pragma unroll
    for (int k = 0; k < 8; ++k) multiply<kind>(d[k % ways], e[k % ways]);
  __syncthreads();
  const long long to = clock64();
  if (threadIdx.x == 0) cycles[blockIdx.x] = to - from;
  for (int k = 0; k < ways; ++k) sink[threadIdx.x] += d[k][0] + d[k][3] + static_cast<float>(e[k][0]);
#endif
}

template <int kind>
void tensor_rate(Probe& p, const char* name) {
  if (p.properties.major < 8) return;
  auto* sink = reinterpret_cast<float*>(p.room + (1 << 20));
  auto* out = reinterpret_cast<long long*>(p.room);
  char label[80];
  const double many = p.cycles([&] { tensor<kind, 4><<<p.sms, 512, 0, p.stream>>>(out, sink, rounds); }, p.sms);
  std::snprintf(label, sizeof label, "rate_%s", name);
  p.say(label, 8.0 * rounds * 16 / many, "warp instructions per cycle and SM");
  const double one = p.cycles([&] { tensor<kind, 1><<<1, 32, 0, p.stream>>>(out, sink, rounds); }, 1);
  std::snprintf(label, sizeof label, "latency_%s", name);
  p.say(label, one / (8.0 * rounds), "cycles");
}

__global__ void barriers(long long* cycles, int n) {
  __syncthreads();
  const long long from = clock64();
  for (int r = 0; r < n; ++r) __syncthreads();
  const long long to = clock64();
  if (threadIdx.x == 0) cycles[blockIdx.x] = to - from;
}

}  // namespace

void probe_arithmetic(Probe& p) {
  rate<Ffma>(p, "ffma");
  rate<Fadd>(p, "fadd");
  rate<Dfma>(p, "dfma", p.properties.major * 10 + p.properties.minor == 80 || p.properties.major == 9 ? rounds : rounds / 8);
  rate<Hfma2>(p, "hfma2");
  rate<Imad>(p, "imad");
  rate<Lop3>(p, "lop3");
  rate<Iadd>(p, "lop3_and_iadd3");
  rate<Shift>(p, "shf");
  rate<Ex2>(p, "mufu_ex2");
  rate<Rcp>(p, "mufu_rcp");
  rate<Popc>(p, "popc");
  rate<Convert>(p, "f2i");
  rate<Shuffle>(p, "shfl");
  rate<Vote>(p, "vote");
  rate<Divide>(p, "division", rounds / 8);
  tensor_rate<0>(p, "mma_m16n8k16_f16");
  tensor_rate<1>(p, "mma_m16n8k8_tf32");
  tensor_rate<2>(p, "mma_m8n8k4_f64");
  auto* out = reinterpret_cast<long long*>(p.room);
  for (const int threads : {32, 64, 128, 256, 512, 1024}) {
    char label[80];
    std::snprintf(label, sizeof label, "barrier_%d_threads", threads);
    p.say(label, p.cycles([&] { barriers<<<1, threads, 0, p.stream>>>(out, rounds); }, 1) / rounds, "cycles");
  }
}
