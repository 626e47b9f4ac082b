// Executors over 32 lanes: loops that the compiler turns into vector code. F is a captureless lambda.
#pragma once
#include <bit>
#include <limits>

#include "decode.hpp"

namespace cudanalyst::isa {

// Elements of 1, 2, 4 or 8 bytes of the lanes in `mask`.
void blend(u8* to, const u8* from, u32 mask);
void blend(u16* to, const u16* from, u32 mask);
void blend(u32* to, const u32* from, u32 mask);
void blend(u64* to, const u64* from, u32 mask);

// One loop serves full and partial warps: it is most of what there is to compile.
template <class D, class F>
[[gnu::always_inline]] inline void each(Warp& w, u32 slot, F f) {
  using Bits = std::conditional_t<sizeof(D) == 1, u8, std::conditional_t<sizeof(D) == 2, u16, std::conditional_t<sizeof(D) == 4, u32, u64>>>;
  D* const d = reg<D>(w, slot);
  alignas(32) D apart[32];
  D* const to = w.mask == UINT32_MAX ? d : apart;
#pragma GCC ivdep
  for (int l = 0; l < 32; ++l) to[l] = f(l);
  if (__builtin_expect(to != d, 0)) blend(reinterpret_cast<Bits*>(d), reinterpret_cast<const Bits*>(apart), w.mask);
}

// The same without vector code: for functions that are long or rare.
template <class D, class F>
inline void each_slow(Warp& w, u32 slot, F f) {
  D* d = reg<D>(w, slot);
  for (u32 rest = w.mask; rest; rest &= rest - 1) {
    const int l = __builtin_ctz(rest);
    d[l] = f(l);
  }
}

template <class D, class A, auto F>
void unary(Warp& w, const Instr& i) {
  const A* a = reg<A>(w, i.a);
  each<D>(w, i.d, [&](int l) { return F(a[l]); });
}
template <class D, class A, class B, auto F>
void binary(Warp& w, const Instr& i) {
  const A* a = reg<A>(w, i.a);
  const B* b = reg<B>(w, i.b);
  each<D>(w, i.d, [&](int l) { return F(a[l], b[l]); });
}
template <class D, class A, class B, class C, auto F>
void ternary(Warp& w, const Instr& i) {
  const A* a = reg<A>(w, i.a);
  const B* b = reg<B>(w, i.b);
  const C* c = reg<C>(w, i.c);
  each<D>(w, i.d, [&](int l) { return F(a[l], b[l], c[l]); });
}
template <class D, class A, auto F>
void unary_slow(Warp& w, const Instr& i) {
  const A* a = reg<A>(w, i.a);
  each_slow<D>(w, i.d, [&](int l) { return F(a[l]); });
}
template <class D, class A, class B, auto F>
void binary_slow(Warp& w, const Instr& i) {
  const A* a = reg<A>(w, i.a);
  const B* b = reg<B>(w, i.b);
  each_slow<D>(w, i.d, [&](int l) { return F(a[l], b[l]); });
}
template <class D, class A, class B, class C, auto F>
void ternary_slow(Warp& w, const Instr& i) {
  const A* a = reg<A>(w, i.a);
  const B* b = reg<B>(w, i.b);
  const C* c = reg<C>(w, i.c);
  each_slow<D>(w, i.d, [&](int l) { return F(a[l], b[l], c[l]); });
}

// Generic lambdas instantiated by width (sign does not matter) or by type.
template <auto F>
Execute unary_by_width(unsigned bytes) {
  return bytes == 2 ? unary<u16, u16, F> : bytes == 4 ? unary<u32, u32, F> : bytes == 8 ? unary<u64, u64, F> : nullptr;
}
template <auto F>
Execute binary_by_width(unsigned bytes) {
  return bytes == 2 ? binary<u16, u16, u16, F> : bytes == 4 ? binary<u32, u32, u32, F> : bytes == 8 ? binary<u64, u64, u64, F> : nullptr;
}
template <auto F>
Execute binary_by_type(Type t) {
  switch (t) {
    case Type::s16: return binary<s16, s16, s16, F>;
    case Type::u16: return binary<u16, u16, u16, F>;
    case Type::s32: return binary<s32, s32, s32, F>;
    case Type::u32: return binary<u32, u32, u32, F>;
    case Type::s64: return binary<s64, s64, s64, F>;
    case Type::u64: return binary<u64, u64, u64, F>;
    default: return nullptr;
  }
}

// d and the first n of a, b, c, all of the same width.
void sources(Decoder& d, unsigned n, unsigned bytes);
void finish(Decoder& d, Execute fn, MixClass mix);
inline unsigned width(Type t) { return ptx::bytes_of(t); }

// Applies .rz .rm .rp .ftz .sat of the statement to the decoded instruction with n float sources.
void wrap_float(Decoder& d, unsigned n, bool float_result);

}  // namespace cudanalyst::isa
