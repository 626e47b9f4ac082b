// Instructions beyond arithmetic, each by what it leaves behind: every case prints words that a GPU and the engine must agree on.
#include <cstdio>
#include <cstdlib>
#include <cstring>

typedef unsigned int u32;
typedef unsigned long long u64;
constexpr int words = 512;

#define CASE(name) \
  __global__ void name##_kernel(u32* out, u32* memory); \
  static Case name##_case(#name, name##_kernel); \
  __global__ void name##_kernel(u32* out, u32* memory)

struct Case {
  const char* name;
  void (*kernel)(u32*, u32*);
  Case* next;
  static Case*& first() {
    static Case* head = nullptr;
    return head;
  }
  Case(const char* n, void (*k)(u32*, u32*)) : name(n), kernel(k), next(nullptr) {
    Case** at = &first();
    while (*at) at = &(*at)->next;
    *at = this;
  }
};

__device__ u32 hash(u32 x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ x >> 16;
}
__device__ u32 lane() { return threadIdx.x & 31; }
__device__ u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }

// ---- atomics: 32 lanes on 4 places one after the other would come in any order, so each lane has its own.
#define ATOMIC32(name, text, type, held) \
  CASE(name) { \
    __shared__ u32 s[64]; \
    const u32 l = threadIdx.x; \
    const u32 a = l < 16 ? hash(l) : (l & 7) * 0x11111111u, b = l & 8 ? a : hash(l + 100); \
    memory[l] = a; \
    s[l] = a; \
    __syncthreads(); \
    u32 old = 0, old_s = 0; \
    asm volatile("{ .reg ." #held " x, y; mov.b32 y, %2; atom.global." text "." #type " x, [%1], y; mov.b32 %0, x; }" : "=r"(old) : "l"(memory + l), "r"(b) : "memory"); \
    asm volatile("{ .reg ." #held " x, y; mov.b32 y, %2; atom.shared." text "." #type " x, [%1], y; mov.b32 %0, x; }" : "=r"(old_s) : "r"(shared_address(s + l)), "r"(b) : "memory"); \
    out[l] = old, out[64 + l] = memory[l], out[128 + l] = old_s, out[192 + l] = s[l]; \
  }
#define ATOMIC64(name, text, type, held) \
  CASE(name) { \
    __shared__ u64 s[64]; \
    u64* m = (u64*)memory; \
    const u32 l = threadIdx.x; \
    const u64 a = (u64)hash(l) << 32 | hash(l + 7), b = l & 8 ? a : (u64)hash(l + 100) << 32 | hash(l + 9); \
    m[l] = a; \
    s[l] = a; \
    __syncthreads(); \
    u64 old = 0, old_s = 0; \
    asm volatile("{ .reg ." #held " x, y; mov.b64 y, %2; atom.global." text "." #type " x, [%1], y; mov.b64 %0, x; }" : "=l"(old) : "l"(m + l), "l"(b) : "memory"); \
    asm volatile("{ .reg ." #held " x, y; mov.b64 y, %2; atom.shared." text "." #type " x, [%1], y; mov.b64 %0, x; }" : "=l"(old_s) : "r"(shared_address(s + l)), "l"(b) : "memory"); \
    u64* o = (u64*)out; \
    o[l] = old, o[64 + l] = m[l], o[128 + l] = old_s, o[192 + l] = s[l]; \
  }
ATOMIC32(atom_add_u32, "add", u32, u32)
ATOMIC32(atom_add_s32, "add", s32, s32)
ATOMIC32(atom_add_f32, "add", f32, f32)
ATOMIC32(atom_min_u32, "min", u32, u32)
ATOMIC32(atom_max_u32, "max", u32, u32)
ATOMIC32(atom_min_s32, "relaxed.gpu.min", s32, s32)
ATOMIC32(atom_max_s32, "acq_rel.sys.max", s32, s32)
ATOMIC32(atom_and_b32, "release.cta.and", b32, b32)
ATOMIC32(atom_or_b32, "acquire.cluster.or", b32, b32)
ATOMIC32(atom_xor_b32, "xor", b32, b32)
ATOMIC32(atom_exch_b32, "exch", b32, b32)
ATOMIC32(atom_inc_u32, "inc", u32, u32)
ATOMIC32(atom_dec_u32, "dec", u32, u32)
ATOMIC32(atom_add_f16x2, "add.noftz", f16x2, b32)
ATOMIC32(atom_add_bf16x2, "add.noftz", bf16x2, b32)
ATOMIC64(atom_add_u64, "add", u64, u64)
ATOMIC64(atom_add_f64, "add", f64, f64)
ATOMIC64(atom_min_u64, "min", u64, u64)
ATOMIC64(atom_max_s64, "max", s64, s64)
ATOMIC64(atom_min_s64, "min", s64, s64)
ATOMIC64(atom_max_u64, "max", u64, u64)
ATOMIC64(atom_and_b64, "and", b64, b64)
ATOMIC64(atom_or_b64, "or", b64, b64)
ATOMIC64(atom_xor_b64, "xor", b64, b64)
ATOMIC64(atom_exch_b64, "exch", b64, b64)

__device__ u32 edge(u32 k) {
  const u32 edges[] = {0, 0x80000000u, 1, 0x80000001u, 0x007fffffu, 0x00800000u, 0x80800000u, 0x3f800000u, 0xbf800000u, 0x7f7fffffu, 0xff7fffffu,
                       0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffc00001u, 0x7f800001u};
  return edges[k & 15];
}
CASE(atom_add_f32_edges) {
  __shared__ float s[256];
  for (u32 k = threadIdx.x; k < 256; k += blockDim.x) {
    memory[k] = edge(k / 16);
    s[k] = __uint_as_float(edge(k / 16));
    atomicAdd((float*)memory + k, __uint_as_float(edge(k)));
    atomicAdd(s + k, __uint_as_float(edge(k)));
    out[k] = memory[k], out[256 + k] = __float_as_uint(s[k]);
  }
}
CASE(atom_add_f64_edges) {
  double* m = (double*)memory;
  for (u32 k = threadIdx.x; k < 256; k += blockDim.x) {
    const auto wide = [](u32 e) { return __longlong_as_double((long long)((u64)e << 32 | (e & 1))); };
    m[k] = wide(edge(k / 16));
    atomicAdd(m + k, wide(edge(k)));
    ((u64*)out)[k] = __double_as_longlong(m[k]);
  }
}
CASE(atom_add_f16_edges) {
  for (u32 k = threadIdx.x; k < 256; k += blockDim.x) {
    const u32 a = hash(k) & 0xffff, b = k & 1 ? hash(k + 77) & 0xffff : a ^ 0x8001;
    memory[k] = a << 16 | (b ^ 0x13), out[k] = 0;
    asm volatile("{ .reg .b16 x, y; mov.b16 y, %1; atom.global.add.noftz.f16 x, [%0], y; }" ::"l"((unsigned short*)(memory + k) + 1), "h"((unsigned short)b) : "memory");
    asm volatile("{ .reg .b16 x, y; mov.b16 y, %1; atom.global.add.noftz.bf16 x, [%0], y; }" ::"l"((unsigned short*)(memory + k)), "h"((unsigned short)a) : "memory");
    out[k] = memory[k];
  }
}
CASE(atom_cas) {
  const u32 l = threadIdx.x;
  memory[l] = l & 1 ? 7 : l;
  u32 old, old16;
  asm volatile("atom.global.cas.b32 %0, [%1], 7, %2;" : "=r"(old) : "l"(memory + l), "r"(l * 3) : "memory");
  unsigned short* h = (unsigned short*)(memory + 64) + l;
  *h = l & 2 ? 9 : l;
  asm volatile("{ .reg .b16 x, y, z; mov.b16 y, 9; cvt.u16.u32 z, %2; atom.global.cas.b16 x, [%1], y, z; cvt.u32.u16 %0, x; }" : "=r"(old16) : "l"(h), "r"(l + 1000) : "memory");
  u64* w = (u64*)(memory + 128) + l;
  *w = l & 4 ? 5 : l;
  u64 old64;
  asm volatile("atom.global.acq_rel.gpu.cas.b64 %0, [%1], 5, %2;" : "=l"(old64) : "l"(w), "l"((u64)l << 40) : "memory");
  out[l] = old, out[64 + l] = memory[l], out[128 + l] = old16, out[192 + l] = *h, ((u64*)out)[128 + l] = old64, ((u64*)out)[192 + l] = *w;
}
CASE(atom_b128) {
  const u32 l = threadIdx.x;
  u64* m = (u64*)memory + 2 * l;
  m[0] = l, m[1] = ~l;
  u64 a, b, c, d;
  asm volatile("{ .reg .b128 x, y, z; mov.b128 y, {%3, %4}; mov.b128 z, {%5, %6}; atom.global.cas.b128 x, [%2], y, z; mov.b128 {%0, %1}, x; }"
               : "=l"(a), "=l"(b)
               : "l"(m), "l"(l & 1 ? (u64)l : 99ull), "l"((u64)~l), "l"((u64)l * 5), "l"((u64)l * 7)
               : "memory");
  asm volatile("{ .reg .b128 x, y; mov.b128 y, {%3, %4}; atom.global.exch.b128 x, [%2], y; mov.b128 {%0, %1}, x; }" : "=l"(c), "=l"(d) : "l"(m), "l"(a + 1), "l"(b + 1) : "memory");
  out[l] = a, out[64 + l] = b, out[128 + l] = c, out[192 + l] = d, out[256 + l] = m[0], out[320 + l] = m[1];
}
CASE(atom_vectors) {
  const u32 l = threadIdx.x;
  float* m = (float*)memory + 4 * l;
  for (int k = 0; k < 4; ++k) m[k] = l + 0.25f * k;
  float a, b, c, d;
  asm volatile("atom.global.v2.f32.add {%0, %1}, [%2], {%3, %4};" : "=f"(a), "=f"(b) : "l"(m), "f"(1.5f), "f"(l * 2.f) : "memory");
  asm volatile("red.global.v4.f32.add [%0], {%1, %2, %3, %4};" ::"l"(m), "f"(1.f), "f"(2.f), "f"(3.f), "f"(4.f) : "memory");
  asm volatile("{ .reg .b32 x, y; atom.global.v2.f16x2.max.noftz {x, y}, [%0], {%1, %2}; }" ::"l"(m + 2), "r"(hash(l)), "r"(hash(l + 1)) : "memory");
  asm volatile("{ .reg .b16 p, q; mov.b32 {p, q}, %1; red.global.v2.bf16.min.noftz [%0], {p, q}; }" ::"l"(m + 3), "r"(hash(l + 9)) : "memory");
  c = m[0], d = m[1];
  out[l] = __float_as_uint(a), out[64 + l] = __float_as_uint(b), out[128 + l] = __float_as_uint(c), out[192 + l] = __float_as_uint(d);
  out[256 + l] = __float_as_uint(m[2]), out[320 + l] = __float_as_uint(m[3]);
}
CASE(red_contended) {
  __shared__ u32 s[4];
  if (threadIdx.x < 4) s[threadIdx.x] = threadIdx.x == 3 ? ~0u : 0, memory[threadIdx.x] = s[threadIdx.x];
  __syncthreads();
  const u32 x = hash(threadIdx.x);
  asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(shared_address(s)), "r"(x) : "memory");
  asm volatile("red.shared.max.u32 [%0], %1;" ::"r"(shared_address(s + 1)), "r"(x) : "memory");
  asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" ::"l"(memory), "r"(x) : "memory");
  asm volatile("red.global.inc.u32 [%0], 20;" ::"l"(memory + 2) : "memory");
  asm volatile("red.global.and.b32 [%0], %1;" ::"l"(memory + 3), "r"(x | 0xff00) : "memory");
  __syncthreads();
  if (threadIdx.x < 4) out[threadIdx.x] = s[threadIdx.x], out[4 + threadIdx.x] = memory[threadIdx.x];
}

// ---- loads and stores
CASE(load_forms) {
  const u32 l = threadIdx.x;
  for (u32 k = l; k < 512; k += blockDim.x) memory[k] = hash(k);
  __syncthreads();
  const u32* at = memory + 4 * (l & 31);
  u32 r[24];
  asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(r[0]) : "l"(at));
  asm volatile("ld.global.cg.u32 %0, [%1+4];" : "=r"(r[1]) : "l"(at));
  asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(r[2]) : "l"(at));
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(r[3]) : "l"(at));
  asm volatile("ld.acquire.sys.u32 %0, [%1];" : "=r"(r[4]) : "l"(at));
  asm volatile("ld.global.L1::no_allocate.L2::128B.u32 %0, [%1];" : "=r"(r[5]) : "l"(at));
  asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(r[6]), "=r"(r[7]) : "l"(at));
  asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(r[8]), "=r"(r[9]), "=r"(r[10]), "=r"(r[11]) : "l"(at));
  asm volatile("ld.global.s8 %0, [%1+1];" : "=r"(r[12]) : "l"(at));
  asm volatile("ld.global.u8 %0, [%1+3];" : "=r"(r[13]) : "l"(at));
  asm volatile("ld.global.s16 %0, [%1+2];" : "=r"(r[14]) : "l"(at));
  asm volatile("{ .reg .u16 a, b, c, d; ld.global.v4.u16 {a, b, c, d}, [%1]; cvt.u32.u16 %0, c; }" : "=r"(r[15]) : "l"(at));
  asm volatile("{ .reg .b64 p; createpolicy.fractional.L2::evict_last.b64 p, 0.5; ld.global.L2::cache_hint.u32 %0, [%1], p; }" : "=r"(r[16]) : "l"(at));
  asm volatile("{ .reg .b64 p; createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 p, [%1], 128, 256; ld.global.L2::cache_hint.v2.u32 {%0, _}, [%1], p; }" : "=r"(r[17]) : "l"(at));
  asm volatile("ldu.global.u32 %0, [%1];" : "=r"(r[18]) : "l"(at));
  asm volatile("ld.mmio.relaxed.sys.global.u32 %0, [%1];" : "=r"(r[19]) : "l"(at));
  u64 lo, hi;
  asm volatile("{ .reg .b128 q; ld.global.b128 q, [%2]; mov.b128 {%0, %1}, q; }" : "=l"(lo), "=l"(hi) : "l"(at));
  r[20] = (u32)lo, r[21] = (u32)(hi >> 32);
  asm volatile("prefetch.global.L2 [%0]; prefetchu.L1 [%0]; prefetch.global.L2::evict_last [%0]; applypriority.global.L2::evict_normal [%0], 128;" ::"l"(memory));
  asm volatile("ld.weak.global.u32 %0, [%1];" : "=r"(r[22]) : "l"(at));
  asm volatile("ld.global.lu.u32 %0, [%1];" : "=r"(r[23]) : "l"(at));
  u32 sum = 0;
  for (int k = 0; k < 24; ++k) {
    sum = sum * 31 + r[k];
    if (l == 5) out[64 + k] = r[k];
  }
  out[l] = sum;
}
CASE(store_forms) {
  const u32 l = threadIdx.x;
  u32* at = memory + 8 * l;
  for (int k = 0; k < 8; ++k) at[k] = 0xaaaaaaaa;
  const u32 x = hash(l);
  asm volatile("st.global.wb.u32 [%0], %1;" ::"l"(at), "r"(x) : "memory");
  asm volatile("st.volatile.global.u8 [%0+4], %1;" ::"l"(at), "r"(x) : "memory");
  asm volatile("st.relaxed.cta.global.u16 [%0+6], %1;" ::"l"(at), "h"((unsigned short)x) : "memory");
  asm volatile("st.release.gpu.v2.u32 [%0+8], {%1, %2};" ::"l"(at), "r"(x + 1), "r"(x + 2) : "memory");
  asm volatile("{ .reg .b128 q; mov.b128 q, {%1, %1}; st.global.b128 [%0+16], q; }" ::"l"(at), "l"((u64)x << 16) : "memory");
  u32 sum = 0;
  for (int k = 0; k < 8; ++k) sum = sum * 31 + at[k];
  out[l] = sum;
}
__constant__ u32 table[64] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
CASE(spaces) {
  __shared__ u32 s[64];
  u32 mine[8];
  for (int k = 0; k < 8; ++k) mine[k] = hash(k + threadIdx.x);
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  const void* where[4] = {s + 3, mine + (threadIdx.x & 7), memory + 5, table + 2};
  u32 bits = 0;
  for (int k = 0; k < 4; ++k) {
    const u64 a = (u64)where[k];
    u32 p[4];
    asm("{ .reg .pred p; isspacep.shared p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(p[0]) : "l"(a));
    asm("{ .reg .pred p; isspacep.local p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(p[1]) : "l"(a));
    asm("{ .reg .pred p; isspacep.global p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(p[2]) : "l"(a));
    asm("{ .reg .pred p; isspacep.const p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(p[3]) : "l"(a));
    for (int n = 0; n < 4; ++n) bits |= p[n] << (4 * k + n);
  }
  out[threadIdx.x] = bits + (*(u32*)where[1] == hash((threadIdx.x & 7) + threadIdx.x) ? 0x10000 : 0) + (table[threadIdx.x & 15] << 20);
}

// ---- warps
CASE(shuffles) {
  const u32 l = threadIdx.x, x = hash(l);
  u32 sum = 0;
  for (u32 b = 0; b < 32; b += 3)
    for (u32 width = 1; width <= 32; width *= 2) {
      const u32 up = (32 - width) << 8, other = (32 - width) << 8 | 31;
      u32 r[4], p[4];
      asm volatile("{ .reg .pred p; shfl.sync.up.b32 %0|p, %2, %3, %4, 0xffffffff; selp.u32 %1, 1, 0, p; }" : "=r"(r[0]), "=r"(p[0]) : "r"(x), "r"(b), "r"(up));
      asm volatile("{ .reg .pred p; shfl.sync.down.b32 %0|p, %2, %3, %4, 0xffffffff; selp.u32 %1, 1, 0, p; }" : "=r"(r[1]), "=r"(p[1]) : "r"(x), "r"(b), "r"(other));
      asm volatile("{ .reg .pred p; shfl.sync.bfly.b32 %0|p, %2, %3, %4, 0xffffffff; selp.u32 %1, 1, 0, p; }" : "=r"(r[2]), "=r"(p[2]) : "r"(x), "r"(b), "r"(other));
      asm volatile("{ .reg .pred p; shfl.sync.idx.b32 %0|p, %2, %3, %4, 0xffffffff; selp.u32 %1, 1, 0, p; }" : "=r"(r[3]), "=r"(p[3]) : "r"(x), "r"(b), "r"(other));
      for (int k = 0; k < 4; ++k) sum = sum * 31 + r[k] + p[k];
      u32 odd;  // a clamp in the middle of a segment
      asm volatile("shfl.sync.idx.b32 %0, %1, %2, %3, 0xffffffff;" : "=r"(odd) : "r"(x), "r"(b), "r"((32 - width) << 8 | 5));
      sum = sum * 31 + odd;
    }
  out[l] = sum;
}
CASE(votes) {
  const u32 l = lane(), x = hash(threadIdx.x);
  u32 sum = 0;
  for (u32 k = 0; k < 4; ++k) {
    const bool p = k == 0 ? x & 1 : k == 1 ? true : k == 2 ? false : l < 7;
    sum = sum * 31 + __ballot_sync(~0u, p);
    sum = sum * 31 + __any_sync(~0u, p) + 2 * __all_sync(~0u, p) + 4 * __uni_sync(~0u, p);
  }
  if (l < 20) sum = sum * 31 + __ballot_sync(0xfffff, x & 2) + __match_any_sync(0xfffff, x & 3);
  int all;
  sum = sum * 31 + __match_all_sync(~0u, x & 1, &all) + all;
  sum = sum * 31 + __match_all_sync(~0u, 5ull << 40, &all) + all;
  sum = sum * 31 + __match_any_sync(~0u, (u64)(x & 7) << 40);
  out[threadIdx.x] = sum;
}
CASE(reductions) {
  const u32 x = hash(threadIdx.x), l = lane();
  u32 sum = __reduce_add_sync(~0u, x) * 31 + __reduce_min_sync(~0u, x);
  sum = sum * 31 + __reduce_max_sync(~0u, x) + __reduce_and_sync(~0u, x | 0xff00ff) + __reduce_or_sync(~0u, x & 0xf0f0) + __reduce_xor_sync(~0u, x);
  sum = sum * 31 + __reduce_min_sync(~0u, (int)x) + __reduce_max_sync(~0u, (int)x);
  if (l & 1) sum = sum * 31 + __reduce_add_sync(0xaaaaaaaa, x);
  u32 leader, elected;
  asm volatile("{ .reg .pred p; elect.sync %0|p, 0xffffffff; selp.u32 %1, 1, 0, p; }" : "=r"(leader), "=r"(elected));
  out[threadIdx.x] = sum;
  out[64 + threadIdx.x] = leader + 100 * elected;
  out[128 + threadIdx.x] = __activemask();
}
CASE(specials) {
  u32 r[16] = {};
  asm("mov.u32 %0, %%lanemask_eq;" : "=r"(r[0]));
  asm("mov.u32 %0, %%lanemask_le;" : "=r"(r[1]));
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(r[2]));
  asm("mov.u32 %0, %%lanemask_ge;" : "=r"(r[3]));
  asm("mov.u32 %0, %%lanemask_gt;" : "=r"(r[4]));
  asm("mov.u32 %0, %%laneid;" : "=r"(r[5]));
  asm("mov.u32 %0, %%warpid;" : "=r"(r[6]));
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(r[7]));
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r[8]));
  asm("mov.u32 %0, %%nclusterid.x;" : "=r"(r[9]));
  asm("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p; }" : "=r"(r[10]));
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(r[11]));
  asm("mov.u32 %0, %%total_smem_size;" : "=r"(r[12]));
  asm("mov.u32 %0, %%nwarpid;" : "=r"(r[13]));
  u64 t0, t1, g0, g1;
  asm volatile("mov.u64 %0, %%clock64; mov.u64 %1, %%globaltimer;" : "=l"(t0), "=l"(g0));
  __nanosleep(100);
  asm volatile("mov.u64 %0, %%clock64; mov.u64 %1, %%globaltimer;" : "=l"(t1), "=l"(g1));
  r[14] = t1 > t0, r[15] = g1 >= g0;
  for (int k = 0; k < 16; ++k)
    if (threadIdx.x == 37) out[k] = r[k];
}

// ---- barriers
CASE(named_barriers) {
  __shared__ u32 s[64];
  const u32 w = threadIdx.x / 32;
  u32 r = 0, q;
  if (w == 0) {
    s[threadIdx.x] = 5 + threadIdx.x;
    asm volatile("bar.arrive 3, 64;" ::: "memory");
  } else {
    asm volatile("barrier.sync.aligned 3, 64;" ::: "memory");
    r = s[threadIdx.x - 32];
  }
  asm volatile("{ .reg .pred p; setp.lt.u32 p, %1, 9; barrier.cta.red.popc.aligned.u32 %0, 1, p; }" : "=r"(q) : "r"(threadIdx.x) : "memory");
  r = r * 31 + q;
  asm volatile("{ .reg .pred p, q; setp.lt.u32 p, %1, 9; bar.red.and.pred q, 2, 64, p; selp.u32 %0, 1, 0, q; }" : "=r"(q) : "r"(threadIdx.x) : "memory");
  r = r * 31 + q;
  asm volatile("{ .reg .pred p, q; setp.lt.u32 p, %1, 9; bar.red.or.pred q, 2, 64, !p; selp.u32 %0, 1, 0, q; }" : "=r"(q) : "r"(threadIdx.x) : "memory");
  out[threadIdx.x] = r * 31 + q + __syncthreads_count(threadIdx.x % 3) + __syncthreads_or(threadIdx.x == 70) + __syncthreads_and(threadIdx.x < 70);
}
CASE(mbarriers) {
  __shared__ u64 bar[3];
  __shared__ u32 s[64];
  const u32 t = threadIdx.x, at = shared_address(bar);
  if (t == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 64; mbarrier.init.shared.b64 [%0+8], 5; mbarrier.init.shared.b64 [%0+16], 1;" ::"r"(at) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  s[t] = t;
  u64 state;
  u32 done, r = 0;
  asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(at) : "memory");
  do asm volatile("{ .reg .pred p; mbarrier.test_wait.acquire.cta.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(at), "l"(state) : "memory");
  while (!done);
  r = s[63 - t];
  __syncthreads();
  if (t == 0) {
    u32 pending;
    asm volatile("mbarrier.arrive.noComplete.shared.b64 %0, [%1+8], 2;" : "=l"(state) : "r"(at) : "memory");
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(state));
    r = r * 31 + pending;
    asm volatile("mbarrier.arrive_drop.shared.b64 %0, [%1+8];" : "=l"(state) : "r"(at) : "memory");
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(state));
    r = r * 31 + pending;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1+8], 2;" : "=l"(state) : "r"(at) : "memory");
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1+8], 0; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(at) : "memory");
    r = r * 31 + done;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1+8];" : "=l"(state) : "r"(at) : "memory");
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(state));
    r = r * 31 + pending;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0+16], 12; mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0+16], 8;" ::"r"(at) : "memory");
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1+16], 0; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(at) : "memory");
    r = r * 31 + done;
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0+16], 4;" ::"r"(at) : "memory");
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1+16], 0; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(at) : "memory");
    r = r * 31 + done;
    asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(at) : "memory");
  }
  out[t] = r;
}
CASE(asynchronous_copies) {
  __shared__ __align__(16) u32 s[512];
  __shared__ u64 bar;
  const u32 t = threadIdx.x, at = shared_address(s);
  for (u32 k = t; k < 512; k += 64) memory[k] = hash(k), s[k] = 0x55555555;
  if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(shared_address(&bar)) : "memory");
  __syncthreads();
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at + 4 * t), "l"(memory + t) : "memory");
  asm volatile("cp.async.ca.shared::cta.global.L2::128B [%0], [%1], 8, %2;" ::"r"(at + 256 + 8 * t), "l"(memory + 64 + 2 * t), "r"(t % 9) : "memory");
  asm volatile("cp.async.commit_group;");
  if (t % 4 == 0) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at + 768 + 4 * t), "l"(memory + 192 + t) : "memory");
  asm volatile("{ .reg .pred p; setp.lt.u32 p, %2, 20; cp.async.ca.shared.global [%0], [%1], 4, p; }" ::"r"(at + 1024 + 4 * t), "l"(memory + t), "r"(t) : "memory");
  asm volatile("cp.async.commit_group; cp.async.wait_group 1;" ::: "memory");
  __syncthreads();
  u32 r = s[t ^ 3] * 31 + s[64 + ((2 * t + 6) & 127)];
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  r = r * 31 + s[192 + (t ^ 9)] + s[256 + (t ^ 1)];
  if (t % 2 == 0) asm volatile("cp.async.ca.shared.global [%0], [%1], 16, 12;" ::"r"(at + 1280 + 8 * t), "l"(memory + 2 * t) : "memory");
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_address(&bar)) : "memory");
  u32 done;
  do asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(shared_address(&bar)) : "memory");
  while (!done);
  out[t] = r * 31 + s[320 + (t ^ 5)] + s[320 + 64 + (t ^ 5)];
}
CASE(matrix_moves) {
  __shared__ __align__(16) u32 s[256];
  if (threadIdx.x < 64)
    for (u32 k = threadIdx.x; k < 256; k += 64) s[k] = hash(k);
  __syncthreads();
  if (threadIdx.x >= 32) return;
  const u32 at = shared_address(s) + 16 * threadIdx.x;
  u32 a, b, c, d, e, f;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at));
  out[threadIdx.x] = a * 31 + b * 37 + c * 41 + d;
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared::cta.b16 {%0, %1}, [%2];" : "=r"(e), "=r"(f) : "r"(at));
  out[32 + threadIdx.x] = e * 31 + f;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(e) : "r"(at));
  out[64 + threadIdx.x] = e;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(f) : "r"(a));
  out[96 + threadIdx.x] = f;
  __syncwarp();
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(d), "r"(c), "r"(b), "r"(a) : "memory");
  __syncwarp();
  for (int k = 0; k < 4; ++k) out[128 + 4 * threadIdx.x + k] = s[4 * threadIdx.x + k];
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(at), "r"(a) : "memory");
  __syncwarp();
  out[256 + threadIdx.x] = s[threadIdx.x];
}

// ---- calls
struct Shape {
  __device__ virtual u32 area(u32 x) const { return x; }
  __device__ virtual ~Shape() {}
};
struct Square : Shape {
  __device__ u32 area(u32 x) const override { return x * x; }
};
struct Odd : Shape {
  u32 k;
  __device__ explicit Odd(u32 n) : k(n) {}
  __device__ u32 area(u32 x) const override { return x * k + 1; }
};
__device__ __noinline__ u32 ackermann(u32 m, u32 n) { return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1)); }
__device__ __noinline__ u32 twice(u32 x) { return 2 * x; }
__device__ __noinline__ u32 cube(u32 x) { return x * x * x; }
typedef u32 (*Function)(u32);
__device__ Function functions[2] = {twice, cube};
CASE(calls) {
  const Function f = functions[threadIdx.x & 1];
  Shape* shape = threadIdx.x & 2 ? (Shape*)new Square : (Shape*)new Odd(threadIdx.x);
  u32 r = f(threadIdx.x) * 31 + ackermann(2, threadIdx.x & 3);
  r = r * 31 + (shape ? shape->area(threadIdx.x) : 0);
  delete shape;
  u32* block = (u32*)malloc(64);
  memset(block, threadIdx.x, 64);
  u32 copy[16];
  memcpy(copy, block, 64);
  free(block);
  out[threadIdx.x] = r + copy[threadIdx.x & 15];
}
__device__ __noinline__ u32 on_the_stack(u32 n) {
  u32* a = (u32*)alloca(4 * n + 4);
  for (u32 k = 0; k <= n; ++k) a[k] = hash(k);
  u32 sum = 0;
  for (u32 k = 0; k <= n; ++k) sum = sum * 3 + a[n - k];
  return n > 3 ? sum + on_the_stack(n / 2) : sum;
}
CASE(stack) { out[threadIdx.x] = on_the_stack(threadIdx.x % 17) + on_the_stack(threadIdx.x & 3); }
CASE(tables) {
  u32 r = threadIdx.x;
  for (int k = 0; k < 20; ++k) switch (hash(r) % 9) {
      case 0: r += 3; break;
      case 1: r *= 5; break;
      case 2: r ^= r << 3; break;
      case 3: r -= 7; break;
      case 4: r = ~r; break;
      case 5: r |= 1; break;
      case 6: r >>= 1; break;
      case 7: r += hash(r); break;
      default: r = r * r; break;
    }
  out[threadIdx.x] = r;
}
struct Pair {
  int a;
  char b;
  double c;
};
CASE(printed) {
  if (threadIdx.x) return;
  const char* text = "text";
  int n = printf("%d %i %u %x %X %o %c|%5d|%-5d|%05d|%+d|% d|%#x|%#o\n", -5, 7, 7u, 255u, 255u, 8u, 'z', 42, 42, 42, 42, 42, 255u, 8u);
  n = n * 100 + printf("%f %.3f %10.2f %-10.2f| %e %E %g %G %a\n", 1.5, 3.14159, 2.5, 2.5, 12345.678, 0.00012, 1e10, 1e-10, 1.0);
  n = n * 100 + printf("%s|%10s|%-10s|%.2s|%%|%lld %llu %llx %ld %lu\n", text, text, text, text, -1ll, ~0ull, 0x123456789abcull, -3l, 3ul);
  n = n * 100 + printf("%*d|%hd %hu|%zu %td\n", 6, 42, (short)-3, (unsigned short)65535, sizeof(int), (long)5);
  n = n * 100 + printf("%5.1f%%|%3c|%-3c|%+.1e|%08.3f|%i\n", 99.5, 'a', 'b', 12345.6789, -3.14159, 1 << 31);
  n = n * 100 + printf("nothing\n");
  n = n * 100 + printf("%f %f %f\n", 1.0 / 0.0, -1.0 / 0.0, 0.0 / 0.0);
  out[0] = n;
}
extern __shared__ u32 dynamic_shared[];
CASE(dynamic_memory) {
  dynamic_shared[threadIdx.x] = hash(threadIdx.x);
  __syncthreads();
  u32 d, t;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(d));
  asm("mov.u32 %0, %%total_smem_size;" : "=r"(t));
  out[threadIdx.x] = dynamic_shared[63 - threadIdx.x];
  if (threadIdx.x == 0) out[64] = d, out[65] = t;
}

int main(int argc, char** argv) {
  u32 *out, *memory, host[words];
  cudaMalloc(&out, 4 * words);
  cudaMalloc(&memory, 8 * words);
  for (Case* c = Case::first(); c; c = c->next) {
    if (argc > 1 && std::strcmp(argv[1], c->name) != 0) continue;
    cudaMemset(out, 0, 4 * words);
    cudaMemset(memory, 0, 8 * words);
    c->kernel<<<1, 64, 1024>>>(out, memory);
    const int error = cudaDeviceSynchronize();
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    u32 sum = 0;
    for (int k = 0; k < words; ++k) sum = sum * 31 + host[k];
    std::printf("%s %d %08x", c->name, error, sum);
    for (int k = 0; k < (argc > 1 ? words : 16); ++k) std::printf(" %x", host[k]);
    std::printf("\n");
  }
}
