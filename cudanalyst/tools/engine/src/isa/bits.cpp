// Logic, shifts, bit fields, permutes.
#include <bit>

#include "lanes.hpp"

namespace cudanalyst::isa {
namespace {

template <auto F, auto P>
void logic(Decoder& d) {
  if (d.type() == Type::pred) {
    d.expect_operands(3);
    bool negated_a = false, negated_b = false;
    d.i.d = d.target(0, 1);
    d.i.a = d.predicate(d.operand(1), negated_a);
    d.i.b = d.predicate(d.operand(2), negated_b);
    if (negated_a || negated_b) Decoder::reject("a negated operand");
    return finish(d, binary<u8, u8, u8, P>, MixClass::predicate);
  }
  sources(d, 2, width(d.type()));
  finish(d, binary_by_width<F>(width(d.type())), MixClass::integer);
}
constexpr auto bit_and = [](auto a, auto b) { return decltype(a)(a & b); };
constexpr auto bit_or = [](auto a, auto b) { return decltype(a)(a | b); };
constexpr auto bit_xor = [](auto a, auto b) { return decltype(a)(a ^ b); };
void inverse(Decoder& d) {
  if (d.type() == Type::pred) {
    sources(d, 1, 1);
    return finish(d, unary<u8, u8, [](u8 a) { return u8(a ^ 1); }>, MixClass::predicate);
  }
  sources(d, 1, width(d.type()));
  finish(d, unary_by_width<[](auto a) { return decltype(a)(~a); }>(width(d.type())), MixClass::integer);
}
void cnot(Decoder& d) {
  sources(d, 1, width(d.type()));
  finish(d, unary_by_width<[](auto a) { return decltype(a)(a == 0); }>(width(d.type())), MixClass::integer);
}

template <class T>
constexpr auto left = [](T a, u32 n) { return n >= 8 * sizeof(T) ? T(0) : T(a << (n & (8 * sizeof(T) - 1))); };
template <class T>
constexpr auto right = [](T a, u32 n) {
  constexpr u32 bits = 8 * sizeof(T);
  if constexpr (std::is_signed_v<T>) return T(a >> (n >= bits ? bits - 1 : n));
  else return n >= bits ? T(0) : T(a >> (n & (bits - 1)));
};
void shift(Decoder& d) {
  d.expect_operands(3);
  const Type t = d.type();
  d.i.d = d.target(0, width(t));
  d.i.a = d.source(1, width(t));
  d.i.b = d.source(2, 4);
  Execute fn = nullptr;
  if (d.statement->op[2] == 'l') {
    fn = width(t) == 2 ? binary<u16, u16, u32, left<u16>> : width(t) == 4 ? binary<u32, u32, u32, left<u32>> : binary<u64, u64, u32, left<u64>>;
  } else if (ptx::is_signed(t)) {
    fn = width(t) == 2 ? binary<s16, s16, u32, right<s16>> : width(t) == 4 ? binary<s32, s32, u32, right<s32>> : binary<s64, s64, u32, right<s64>>;
  } else {
    fn = width(t) == 2 ? binary<u16, u16, u32, right<u16>> : width(t) == 4 ? binary<u32, u32, u32, right<u32>> : binary<u64, u64, u32, right<u64>>;
  }
  finish(d, fn, MixClass::integer);
}
template <bool is_left, bool clamp>
constexpr auto funnel = [](u32 low, u32 high, u32 n) {
  n = clamp ? (n > 32 ? 32 : n) : n & 31;
  const u64 both = u64{high} << 32 | low;
  return is_left ? u32(both << n >> 32) : u32(both >> n);
};
void shf(Decoder& d) {
  sources(d, 3, 4);
  const bool l = d.has(".l"), c = d.has(".clamp");
  finish(d,
         l ? (c ? ternary<u32, u32, u32, u32, funnel<true, true>> : ternary<u32, u32, u32, u32, funnel<true, false>>)
           : (c ? ternary<u32, u32, u32, u32, funnel<false, true>> : ternary<u32, u32, u32, u32, funnel<false, false>>),
         MixClass::integer);
}

void lop3_run(Warp& w, const Instr& i) {
  const u32 *a = reg<u32>(w, i.a), *b = reg<u32>(w, i.b), *c = reg<u32>(w, i.c);
  u32 k[8];
  for (u32 n = 0; n < 8; ++n) k[n] = i.option >> n & 1 ? UINT32_MAX : 0;
  each<u32>(w, i.d, [&](int l) {
    const u32 x = a[l], y = b[l], z = c[l];
    return (k[7] & x & y & z) | (k[6] & x & y & ~z) | (k[5] & x & ~y & z) | (k[4] & x & ~y & ~z) | (k[3] & ~x & y & z) | (k[2] & ~x & y & ~z) |
           (k[1] & ~x & ~y & z) | (k[0] & ~x & ~y & ~z);
  });
}
// d|p = ..., and p = (d != 0) combined with q.
void lop3_predicate(Warp& w, const Instr& i) {
  const u32 *a = reg<u32>(w, i.a), *b = reg<u32>(w, i.b), *c = reg<u32>(w, i.c);
  const u8* q = reg<u8>(w, i.v[1]);
  u32 result[32];
  for (int l = 0; l < 32; ++l) {
    u32 word = 0;
    for (u32 n = 0; n < 8; ++n)
      if (i.option >> n & 1) word |= (n & 4 ? a[l] : ~a[l]) & (n & 2 ? b[l] : ~b[l]) & (n & 1 ? c[l] : ~c[l]);
    result[l] = word;
  }
  u8 chosen[32];
  for (int l = 0; l < 32; ++l) {
    const u8 other = u8(q[l] ^ (i.option2 >> 1)), some = result[l] != 0;
    chosen[l] = i.option2 & 1 ? u8(some & other) : u8(some | other);
  }
  each<u32>(w, i.d, [&](int l) { return result[l]; });
  each<u8>(w, i.v[0], [&](int l) { return chosen[l]; });
}
void lop3_combined(Decoder& d) {
  d.expect_operands(6);
  const Operand& pair = d.operand(0);
  if (pair.kind != Operand::pair) Decoder::reject("one destination instead of two");
  if (d.operand(4).kind != Operand::integer) Decoder::reject("a table that is no literal");
  d.i.d = d.target(d.part(pair, 0), 4);
  d.i.v[0] = d.target(d.part(pair, 1), 1);
  d.i.a = d.source(1, 4);
  d.i.b = d.source(2, 4);
  d.i.c = d.source(3, 4);
  d.i.option = static_cast<u8>(d.operand(4).value);
  bool negated = false;
  d.i.v[1] = d.predicate(d.operand(5), negated);
  d.i.option2 = static_cast<u8>((d.has(".and") ? 1 : 0) | (negated ? 2 : 0));
  finish(d, lop3_predicate, MixClass::integer);
}
void lop3(Decoder& d) {
  d.expect_operands(5);
  if (d.operand(4).kind != Operand::integer) Decoder::reject("a table that is no literal");
  d.i.d = d.target(0, 4);
  d.i.a = d.source(1, 4);
  d.i.b = d.source(2, 4);
  d.i.c = d.source(3, 4);
  d.i.option = static_cast<u8>(d.operand(4).value);
  finish(d, lop3_run, MixClass::integer);
}

void count(Decoder& d) {
  d.expect_operands(2);
  const bool wide = width(d.type()) == 8;
  d.i.d = d.target(0, 4);
  d.i.a = d.source(1, width(d.type()));
  if (d.statement->op[0] == 'p')
    finish(d, wide ? unary<u32, u64, [](u64 a) { return u32(std::popcount(a)); }> : unary<u32, u32, [](u32 a) { return u32(std::popcount(a)); }>,
           MixClass::integer);
  else
    finish(d,
           wide ? unary<u32, u64, [](u64 a) { return u32(std::countl_zero(a)); }> : unary<u32, u32, [](u32 a) { return u32(std::countl_zero(a)); }>,
           MixClass::integer);
}
template <class T, bool amount>
constexpr auto find_leading = [](T a) {
  using U = std::make_unsigned_t<T>;
  U bits = U(a);
  if constexpr (std::is_signed_v<T>)
    if (a < 0) bits = ~bits;
  if (bits == 0) return UINT32_MAX;
  const u32 at = 8 * sizeof(T) - 1 - u32(std::countl_zero(bits));
  return amount ? u32(8 * sizeof(T) - 1 - at) : at;
};
void bfind(Decoder& d) {
  d.expect_operands(2);
  const Type t = d.type();
  d.i.d = d.target(0, 4);
  d.i.a = d.source(1, width(t));
  const bool n = d.has(".shiftamt");
  finish(d,
         t == Type::u32   ? (n ? unary_slow<u32, u32, find_leading<u32, true>> : unary_slow<u32, u32, find_leading<u32, false>>)
         : t == Type::s32 ? (n ? unary_slow<u32, s32, find_leading<s32, true>> : unary_slow<u32, s32, find_leading<s32, false>>)
         : t == Type::u64 ? (n ? unary_slow<u32, u64, find_leading<u64, true>> : unary_slow<u32, u64, find_leading<u64, false>>)
                          : (n ? unary_slow<u32, s64, find_leading<s64, true>> : unary_slow<u32, s64, find_leading<s64, false>>),
         MixClass::integer);
}
constexpr auto nth_set = [](u32 mask, u32 base, s32 offset) -> u32 {
  if (offset == 0) return mask >> (base & 31) & 1 ? base & 31 : UINT32_MAX;
  s32 at = static_cast<s32>(base & 31), left = offset > 0 ? offset : -offset;
  for (const s32 step = offset > 0 ? 1 : -1; at >= 0 && at < 32; at += step)
    if (mask >> at & 1 && --left == 0) return static_cast<u32>(at);
  return UINT32_MAX;
};
void fns(Decoder& d) { sources(d, 3, 4), finish(d, ternary_slow<u32, u32, u32, s32, nth_set>, MixClass::integer); }
constexpr auto reverse = [](auto a) {
  using T = decltype(a);
  u64 x = a;
  x = (x >> 1 & 0x5555555555555555ull) | (x & 0x5555555555555555ull) << 1;
  x = (x >> 2 & 0x3333333333333333ull) | (x & 0x3333333333333333ull) << 2;
  x = (x >> 4 & 0x0f0f0f0f0f0f0f0full) | (x & 0x0f0f0f0f0f0f0f0full) << 4;
  return T(__builtin_bswap64(x) >> (64 - 8 * sizeof(T)));
};
void brev(Decoder& d) {
  sources(d, 1, width(d.type())), finish(d, width(d.type()) == 4 ? unary<u32, u32, reverse> : unary<u64, u64, reverse>, MixClass::integer);
}

// Position and length count in 32 bits as a GPU does it: 8 bits of them for a word, all of them for 64 bits, where the code is a sequence.
template <class T>
constexpr auto extract = [](T a, u32 position, u32 length) {
  using U = std::make_unsigned_t<T>;
  constexpr u32 bits = 8 * sizeof(T);
  if (bits == 32) position &= 255, length &= 255;
  if (length == 0) return T(0);
  if constexpr (std::is_signed_v<T>) {
    const u32 top = u64{position} + length - 1 < bits ? position + length - 1 : bits - 1;
    const U sign = U(0) - (U(a) >> top & 1);
    const U field = position >= bits ? sign : U(a >> position);
    if (length >= bits) return T(field);
    const U mask = (U(1) << length) - 1;
    return T((field & mask) | (sign & ~mask));
  } else {
    const U field = position >= bits ? 0 : U(a) >> position;
    return length >= bits ? T(field) : T(field & ((U(1) << length) - 1));
  }
};
void bfe(Decoder& d) {
  d.expect_operands(4);
  const Type t = d.type();
  d.i.d = d.target(0, width(t));
  d.i.a = d.source(1, width(t));
  d.i.b = d.source(2, 4);
  d.i.c = d.source(3, 4);
  finish(d,
         t == Type::u32   ? ternary_slow<u32, u32, u32, u32, extract<u32>>
         : t == Type::s32 ? ternary_slow<s32, s32, u32, u32, extract<s32>>
         : t == Type::u64 ? ternary_slow<u64, u64, u32, u32, extract<u64>>
                          : ternary_slow<s64, s64, u32, u32, extract<s64>>,
         MixClass::integer);
}
template <class T>
void insert(Warp& w, const Instr& i) {
  const T *a = reg<T>(w, i.a), *b = reg<T>(w, i.b);
  const u32 *c = reg<u32>(w, i.c), *e = reg<u32>(w, i.e);
  constexpr u32 bits = 8 * sizeof(T);
  each<T>(w, i.d, [&](int l) {
    const u32 position = bits == 32 ? c[l] & 255 : c[l], length = bits == 32 ? e[l] & 255 : e[l];
    if (position >= bits) return b[l];
    const T mask = T((length >= bits ? ~T(0) : T((T(1) << length) - 1)) << position);
    return T((b[l] & ~mask) | (T(a[l] << position) & mask));
  });
}
void bfi(Decoder& d) {
  d.expect_operands(5);
  const unsigned n = width(d.type());
  d.i.d = d.target(0, n);
  d.i.a = d.source(1, n);
  d.i.b = d.source(2, n);
  d.i.c = d.source(3, 4);
  d.i.e = d.source(4, 4);
  finish(d, n == 4 ? insert<u32> : insert<u64>, MixClass::integer);
}
template <bool is_signed, bool wrap>
constexpr auto extend = [](u32 a, u32 n) {
  if (wrap) n &= 31;
  if (n >= 32) return a;
  if (n == 0) return 0u;
  return is_signed ? u32(s32(a << (32 - n)) >> (32 - n)) : a << (32 - n) >> (32 - n);
};
void szext(Decoder& d) {
  sources(d, 2, 4);
  const bool s = d.type() == Type::s32;
  finish(d,
         d.has(".wrap") ? (s ? binary<u32, u32, u32, extend<true, true>> : binary<u32, u32, u32, extend<false, true>>)
                        : (s ? binary<u32, u32, u32, extend<true, false>> : binary<u32, u32, u32, extend<false, false>>),
         MixClass::integer);
}
template <bool wrap>
constexpr auto bit_mask = [](u32 position, u32 length) {
  if (wrap) return u32(((u64{1} << (length & 31)) - 1) << (position & 31));
  return position > 31 ? 0u : u32(((u64{1} << std::min(length, 32u)) - 1) << position);
};
void bmsk(Decoder& d) {
  sources(d, 2, 4), finish(d, d.has(".wrap") ? binary<u32, u32, u32, bit_mask<true>> : binary<u32, u32, u32, bit_mask<false>>, MixClass::integer);
}

constexpr auto permute = [](u32 a, u32 b, u32 selector) {
  const u64 bytes = u64{b} << 32 | a;
  u32 result = 0;
  for (int k = 0; k < 4; ++k) {
    const u32 s = selector >> (4 * k) & 15;
    u32 byte = u32(bytes >> (8 * (s & 7))) & 255;
    if (s & 8) byte = byte & 128 ? 255 : 0;
    result |= byte << (8 * k);
  }
  return result;
};
template <int mode>
constexpr auto permute_mode = [](u32 a, u32 b, u32 c) {
  constexpr u16 selectors[6][4] = {{0x3210, 0x4321, 0x5432, 0x6543}, {0x5670, 0x6701, 0x7012, 0x0123}, {0x0000, 0x1111, 0x2222, 0x3333},
                                   {0x3210, 0x3211, 0x3222, 0x3333}, {0x0000, 0x1110, 0x2210, 0x3210}, {0x1010, 0x3232, 0x1010, 0x3232}};
  return permute(a, b, selectors[mode][c & 3]);
};
void prmt(Decoder& d) {
  sources(d, 3, 4);
  Execute fn = ternary<u32, u32, u32, u32, permute>;
  if (d.has(".f4e")) fn = ternary_slow<u32, u32, u32, u32, permute_mode<0>>;
  else if (d.has(".b4e")) fn = ternary_slow<u32, u32, u32, u32, permute_mode<1>>;
  else if (d.has(".rc8")) fn = ternary_slow<u32, u32, u32, u32, permute_mode<2>>;
  else if (d.has(".ecl")) fn = ternary_slow<u32, u32, u32, u32, permute_mode<3>>;
  else if (d.has(".ecr")) fn = ternary_slow<u32, u32, u32, u32, permute_mode<4>>;
  else if (d.has(".rc16")) fn = ternary_slow<u32, u32, u32, u32, permute_mode<5>>;
  finish(d, fn, MixClass::integer);
}

constexpr Row rows[] = {
    {"and(.pred|.b16|.b32|.b64)", logic<bit_and, [](u8 a, u8 b) { return u8(a & b); }>},
    {"or(.pred|.b16|.b32|.b64)", logic<bit_or, [](u8 a, u8 b) { return u8(a | b); }>},
    {"xor(.pred|.b16|.b32|.b64)", logic<bit_xor, [](u8 a, u8 b) { return u8(a ^ b); }>},
    {"not(.pred|.b16|.b32|.b64)", inverse},
    {"cnot(.b16|.b32|.b64)", cnot},
    {"shl(.b16|.b32|.b64)", shift},
    {"shr(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64)", shift},
    {"shf(.l|.r)(.clamp|.wrap).b32", shf},
    {"lop3.b32", lop3},
    {"lop3(.and|.or).b32", lop3_combined},
    {"popc(.b32|.b64)", count},
    {"clz(.b32|.b64)", count},
    {"bfind{.shiftamt}(.u32|.s32|.u64|.s64)", bfind},
    {"fns.b32", fns},
    {"brev(.b32|.b64)", brev},
    {"bfe(.u32|.s32|.u64|.s64)", bfe},
    {"bfi(.b32|.b64)", bfi},
    {"szext(.clamp|.wrap)(.u32|.s32)", szext},
    {"bmsk(.clamp|.wrap).b32", bmsk},
    {"prmt.b32{.f4e|.b4e|.rc8|.ecl|.ecr|.rc16}", prmt},
};
}  // namespace

std::span<const Row> bit_rows() { return rows; }

}  // namespace cudanalyst::isa
