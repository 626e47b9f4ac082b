// Integer arithmetic.
#include "lanes.hpp"

namespace cudanalyst::isa {
namespace {

using int128 = __int128;
using uint128 = unsigned __int128;

template <class T>
constexpr T saturate(s64 v) {
  return v > std::numeric_limits<T>::max()   ? std::numeric_limits<T>::max()
         : v < std::numeric_limits<T>::min() ? std::numeric_limits<T>::min()
                                             : static_cast<T>(v);
}

void add(Decoder& d) {
  sources(d, 2, width(d.type()));
  if (d.has(".sat")) return finish(d, binary<s32, s32, s32, [](s32 a, s32 b) { return saturate<s32>(s64{a} + b); }>, MixClass::integer);
  finish(d, binary_by_width<[](auto a, auto b) { return decltype(a)(a + b); }>(width(d.type())), MixClass::integer);
}
void sub(Decoder& d) {
  sources(d, 2, width(d.type()));
  if (d.has(".sat")) return finish(d, binary<s32, s32, s32, [](s32 a, s32 b) { return saturate<s32>(s64{a} - b); }>, MixClass::integer);
  finish(d, binary_by_width<[](auto a, auto b) { return decltype(a)(a - b); }>(width(d.type())), MixClass::integer);
}

constexpr auto high = [](auto a, auto b) {
  using T = decltype(a);
  if constexpr (sizeof(T) == 8) {
    using Wide = std::conditional_t<std::is_signed_v<T>, int128, uint128>;
    return T(Wide(a) * b >> 64);
  } else {
    using Wide = std::conditional_t<std::is_signed_v<T>, s64, u64>;
    return T(Wide(a) * b >> (8 * sizeof(T)));
  }
};
constexpr auto low = [](auto a, auto b) {
  using T = decltype(a);
  using Wide = std::conditional_t<(sizeof(T) < 4), u32, std::make_unsigned_t<T>>;
  return T(Wide(a) * Wide(b));
};

void mul(Decoder& d) {
  const Type t = d.type();
  if (d.has(".wide")) {
    d.expect_operands(3);
    d.i.d = d.target(0, 2 * width(t));
    d.i.a = d.source(1, width(t));
    d.i.b = d.source(2, width(t));
    return finish(d,
                  t == Type::s32   ? binary<s64, s32, s32, [](s32 a, s32 b) { return s64{a} * b; }>
                  : t == Type::u32 ? binary<u64, u32, u32, [](u32 a, u32 b) { return u64{a} * b; }>
                  : t == Type::s16 ? binary<s32, s16, s16, [](s16 a, s16 b) { return s32{a} * b; }>
                  : t == Type::u16 ? binary<u32, u16, u16, [](u16 a, u16 b) { return u32{a} * b; }>
                                   : nullptr,
                  MixClass::integer);
  }
  sources(d, 2, width(t));
  finish(d, d.has(".hi") ? binary_by_type<high>(t) : binary_by_width<low>(width(t)), MixClass::integer);
}

void mad(Decoder& d) {
  const Type t = d.type();
  d.expect_operands(4);
  const bool wide = d.has(".wide");
  d.i.d = d.target(0, (wide ? 2 : 1) * width(t));
  d.i.a = d.source(1, width(t));
  d.i.b = d.source(2, width(t));
  d.i.c = d.source(3, (wide ? 2 : 1) * width(t));
  Execute fn = nullptr;
  if (wide) {
    fn = t == Type::s32   ? ternary<s64, s32, s32, s64, [](s32 a, s32 b, s64 c) { return s64(u64(s64{a} * b) + u64(c)); }>
         : t == Type::u32 ? ternary<u64, u32, u32, u64, [](u32 a, u32 b, u64 c) { return u64{a} * b + c; }>
         : t == Type::s16 ? ternary<s32, s16, s16, s32, [](s16 a, s16 b, s32 c) { return s32(u32(s32{a} * b) + u32(c)); }>
         : t == Type::u16 ? ternary<u32, u16, u16, u32, [](u16 a, u16 b, u32 c) { return u32{a} * b + c; }>
                          : nullptr;
  } else if (d.has(".hi")) {
    fn = t == Type::s32   ? ternary<s32, s32, s32, s32, [](s32 a, s32 b, s32 c) { return s32(u32(high(a, b)) + u32(c)); }>
         : t == Type::u32 ? ternary<u32, u32, u32, u32, [](u32 a, u32 b, u32 c) { return high(a, b) + c; }>
         : t == Type::s64 ? ternary<s64, s64, s64, s64, [](s64 a, s64 b, s64 c) { return s64(u64(high(a, b)) + u64(c)); }>
         : t == Type::u64 ? ternary<u64, u64, u64, u64, [](u64 a, u64 b, u64 c) { return high(a, b) + c; }>
         : t == Type::s16 ? ternary<s16, s16, s16, s16, [](s16 a, s16 b, s16 c) { return s16(high(a, b) + c); }>
                          : ternary<u16, u16, u16, u16, [](u16 a, u16 b, u16 c) { return u16(high(a, b) + c); }>;
    if (d.has(".sat")) fn = ternary<s32, s32, s32, s32, [](s32 a, s32 b, s32 c) { return saturate<s32>(s64{high(a, b)} + c); }>;
  } else {
    fn = width(t) == 4   ? ternary<u32, u32, u32, u32, [](u32 a, u32 b, u32 c) { return a * b + c; }>
         : width(t) == 8 ? ternary<u64, u64, u64, u64, [](u64 a, u64 b, u64 c) { return a * b + c; }>
                         : ternary<u16, u16, u16, u16, [](u16 a, u16 b, u16 c) { return u16(u32{a} * b + c); }>;
  }
  finish(d, fn, MixClass::integer);
}

template <bool is_signed>
constexpr auto times24 = [](u32 a, u32 b) {
  if constexpr (is_signed) return u64(s64(s32(a << 8) >> 8) * (s32(b << 8) >> 8));
  else return u64{a & 0xffffff} * (b & 0xffffff);
};
void mul24(Decoder& d) {
  const bool is_mad = d.statement->op.substr(0, 3) == "mad", s = d.type() == Type::s32, hi = d.has(".hi");
  sources(d, is_mad ? 3 : 2, 4);
  if (!is_mad) d.i.c = d.constant(0, 4);
  if (d.has(".sat"))
    return finish(d, ternary<u32, u32, u32, s32, [](u32 a, u32 b, s32 c) { return u32(saturate<s32>(s64{s32(times24<true>(a, b) >> 16)} + c)); }>,
                  MixClass::integer);
  finish(d,
         s ? (hi ? ternary<u32, u32, u32, u32, [](u32 a, u32 b, u32 c) { return u32(times24<true>(a, b) >> 16) + c; }>
                 : ternary<u32, u32, u32, u32, [](u32 a, u32 b, u32 c) { return u32(times24<true>(a, b)) + c; }>)
           : (hi ? ternary<u32, u32, u32, u32, [](u32 a, u32 b, u32 c) { return u32(times24<false>(a, b) >> 16) + c; }>
                 : ternary<u32, u32, u32, u32, [](u32 a, u32 b, u32 c) { return u32(times24<false>(a, b)) + c; }>),
         MixClass::integer);
}

// A GPU does not trap: n / 0 and n % 0 are all ones, INT_MIN / -1 wraps.
constexpr auto quotient = [](auto a, auto b) {
  using T = decltype(a);
  if (b == 0) return T(~T(0));
  if constexpr (std::is_signed_v<T>)
    if (b == T(-1)) return T(std::make_unsigned_t<T>(0) - std::make_unsigned_t<T>(a));
  return T(a / b);
};
constexpr auto remainder_of = [](auto a, auto b) {
  using T = decltype(a);
  if (b == 0) return T(~T(0));
  if constexpr (std::is_signed_v<T>)
    if (b == T(-1)) return T(0);
  return T(a % b);
};
template <auto F>
Execute slow_by_type(Type t) {
  switch (t) {
    case Type::s16: return binary_slow<s16, s16, s16, F>;
    case Type::u16: return binary_slow<u16, u16, u16, F>;
    case Type::s32: return binary_slow<s32, s32, s32, F>;
    case Type::u32: return binary_slow<u32, u32, u32, F>;
    case Type::s64: return binary_slow<s64, s64, s64, F>;
    case Type::u64: return binary_slow<u64, u64, u64, F>;
    default: return nullptr;
  }
}
void div(Decoder& d) { sources(d, 2, width(d.type())), finish(d, slow_by_type<quotient>(d.type()), MixClass::integer); }
void rem(Decoder& d) { sources(d, 2, width(d.type())), finish(d, slow_by_type<remainder_of>(d.type()), MixClass::integer); }
constexpr auto smaller = [](auto a, auto b) { return a < b ? a : b; };
constexpr auto larger = [](auto a, auto b) { return a > b ? a : b; };
constexpr auto smaller_relu = [](auto a, auto b) { return larger(smaller(a, b), decltype(a)(0)); };
constexpr auto larger_relu = [](auto a, auto b) { return larger(larger(a, b), decltype(a)(0)); };
void min(Decoder& d) { sources(d, 2, width(d.type())), finish(d, binary_by_type<smaller>(d.type()), MixClass::integer); }
void max(Decoder& d) { sources(d, 2, width(d.type())), finish(d, binary_by_type<larger>(d.type()), MixClass::integer); }
void limit_relu(Decoder& d) {
  sources(d, 2, 4);
  finish(d, d.statement->op[1] == 'i' ? binary<s32, s32, s32, smaller_relu> : binary<s32, s32, s32, larger_relu>, MixClass::integer);
}
void neg(Decoder& d) {
  sources(d, 1, width(d.type())), finish(d, unary_by_width<[](auto a) { return decltype(a)(0 - a); }>(width(d.type())), MixClass::integer);
}
void abs(Decoder& d) {
  sources(d, 1, width(d.type()));
  const unsigned n = width(d.type());
  finish(d,
         n == 4   ? unary<u32, s32, [](s32 a) { return a < 0 ? 0u - u32(a) : u32(a); }>
         : n == 8 ? unary<u64, s64, [](s64 a) { return a < 0 ? 0ull - u64(a) : u64(a); }>
                  : unary<u16, s16, [](s16 a) { return a < 0 ? u16(0 - a) : u16(a); }>,
         MixClass::integer);
}

template <class T>
constexpr auto sad_of = [](T a, T b, std::make_unsigned_t<T> c) {
  using U = std::make_unsigned_t<T>;
  return U(c + (a < b ? U(b) - U(a) : U(a) - U(b)));
};
void sad(Decoder& d) {
  sources(d, 3, width(d.type()));
  const Type t = d.type();
  finish(d,
         t == Type::s32   ? ternary<u32, s32, s32, u32, sad_of<s32>>
         : t == Type::u32 ? ternary<u32, u32, u32, u32, sad_of<u32>>
         : t == Type::s64 ? ternary<u64, s64, s64, u64, sad_of<s64>>
         : t == Type::u64 ? ternary<u64, u64, u64, u64, sad_of<u64>>
         : t == Type::s16 ? ternary<u16, s16, s16, u16, sad_of<s16>>
                          : ternary<u16, u16, u16, u16, sad_of<u16>>,
         MixClass::integer);
}

// Arithmetic with a carry. A subtraction adds the complement, so its carry is one where nothing is borrowed; code that mixes addc with sub.cc
// (CUDA's 128-bit division does) relies on that. e is the carry's slot; option bit 0 reads it, bit 1 writes it; option2: 0 add, 1 subtract, 2 low
// product, 3 high product.
template <class T>
void carry(Warp& w, const Instr& i) {
  const T *a = reg<T>(w, i.a), *b = reg<T>(w, i.b), *c = i.c == none ? nullptr : reg<T>(w, i.c);
  T* d = reg<T>(w, i.d);
  u8* flag = reg<u8>(w, i.e);
  for (int l = 0; l < 32; ++l) {
    if (!(w.mask >> l & 1)) continue;
    const u8 in = i.option & 1 ? flag[l] : 0;
    T first = a[l], second = b[l];
    if (i.option2 >= 2) {
      const uint128 product =
          i.option2 == 2 || !i.acquire ? uint128(first) * second : uint128(int128(std::make_signed_t<T>(first)) * std::make_signed_t<T>(second));
      first = i.option2 == 2 ? T(product) : T(product >> (8 * sizeof(T)));
      second = c[l];
    }
    uint128 sum;
    u8 out;
    if (i.option2 == 1) {
      sum = uint128(first) + T(~second) + (i.option & 1 ? in : 1);
      out = (sum >> (8 * sizeof(T))) != 0;
    } else {
      sum = uint128(first) + second + in;
      out = (sum >> (8 * sizeof(T))) != 0;
    }
    d[l] = T(sum);
    if (i.option & 2) flag[l] = out;
  }
}
void carrying(Decoder& d) {
  const std::string_view op = d.statement->op.substr(0, d.statement->op.find('.'));
  const bool mad = op.substr(0, 3) == "mad", c = op == "addc" || op == "subc" || op == "madc";
  sources(d, mad ? 3 : 2, width(d.type()));
  d.i.e = d.carry_slot();
  d.i.option = static_cast<u8>((c ? 1 : 0) | (d.has(".cc") ? 2 : 0));
  d.i.option2 = mad ? (d.has(".hi") ? 3 : 2) : op.substr(0, 3) == "sub" ? 1 : 0;
  d.i.acquire = ptx::is_signed(d.type());
  finish(d, width(d.type()) == 4 ? carry<u32> : carry<u64>, MixClass::integer);
}

template <bool sa, bool sb>
void dp4a_of(Warp& w, const Instr& i) {
  const u32 *a = reg<u32>(w, i.a), *b = reg<u32>(w, i.b), *c = reg<u32>(w, i.c);
  each<u32>(w, i.d, [&](int l) {
    u32 sum = c[l];
    for (int k = 0; k < 32; k += 8) {
      const u32 x = a[l] >> k & 255, y = b[l] >> k & 255;
      sum += (sa ? u32(s32(s8(x))) : x) * (sb ? u32(s32(s8(y))) : y);
    }
    return sum;
  });
}
void dp4a(Decoder& d) {
  sources(d, 3, 4);
  const bool a = d.type(0) == Type::s32, b = d.type(1) == Type::s32;
  finish(d, a ? (b ? dp4a_of<true, true> : dp4a_of<true, false>) : (b ? dp4a_of<false, true> : dp4a_of<false, false>), MixClass::integer);
}
template <bool sa, bool sb>
void dp2a_of(Warp& w, const Instr& i) {
  const u32 *a = reg<u32>(w, i.a), *b = reg<u32>(w, i.b), *c = reg<u32>(w, i.c);
  const int from = i.option ? 16 : 0;
  each<u32>(w, i.d, [&](int l) {
    u32 sum = c[l];
    for (int k = 0; k < 2; ++k) {
      const u32 x = a[l] >> (16 * k) & 0xffff, y = b[l] >> (from + 8 * k) & 255;
      sum += (sa ? u32(s32(s16(x))) : x) * (sb ? u32(s32(s8(y))) : y);
    }
    return sum;
  });
}
void dp2a(Decoder& d) {
  sources(d, 3, 4);
  d.i.option = d.has(".hi");
  const bool a = d.type(0) == Type::s32, b = d.type(1) == Type::s32;
  finish(d, a ? (b ? dp2a_of<true, true> : dp2a_of<true, false>) : (b ? dp2a_of<false, true> : dp2a_of<false, false>), MixClass::integer);
}

// Packed pairs of 16-bit integers.
template <class T, auto F>
constexpr auto both = [](u32 a, u32 b) { return u32{u16(F(T(u16(a)), T(u16(b))))} | u32{u16(F(T(u16(a >> 16)), T(u16(b >> 16))))} << 16; };
constexpr auto plus_of = [](auto a, auto b) { return decltype(a)(a + b); };
void packed(Decoder& d) {
  sources(d, 2, 4);
  const char which = d.statement->op[1];  // add, min, max
  const bool s = d.has(".s16x2"), relu = d.has(".relu");
  Execute fn = nullptr;
  if (which == 'd') fn = binary<u32, u32, u32, both<u16, plus_of>>;
  else if (which == 'i' && relu) fn = binary<u32, u32, u32, both<s16, smaller_relu>>;
  else if (which == 'i') fn = s ? binary<u32, u32, u32, both<s16, smaller>> : binary<u32, u32, u32, both<u16, smaller>>;
  else if (relu) fn = binary<u32, u32, u32, both<s16, larger_relu>>;
  else fn = s ? binary<u32, u32, u32, both<s16, larger>> : binary<u32, u32, u32, both<u16, larger>>;
  finish(d, fn, MixClass::integer);
}
#define INTEGER "(.s16|.u16|.s32|.u32|.s64|.u64)"
constexpr Row rows[] = {
    {"add" INTEGER, add},
    {"add.sat.s32", add},
    {"sub" INTEGER, sub},
    {"sub.sat.s32", sub},
    {"mul(.lo|.hi)" INTEGER, mul},
    {"mul.wide(.s16|.u16|.s32|.u32)", mul},
    {"mad(.lo|.hi)" INTEGER, mad},
    {"mad.hi.sat.s32", mad},
    {"mad.wide(.s16|.u16|.s32|.u32)", mad},
    {"mul24(.lo|.hi)(.s32|.u32)", mul24},
    {"mad24(.lo|.hi)(.s32|.u32)", mul24},
    {"mad24.hi.sat.s32", mul24},
    {"div" INTEGER, div},
    {"rem" INTEGER, rem},
    {"min" INTEGER, min},
    {"max" INTEGER, max},
    {"neg(.s16|.s32|.s64)", neg},
    {"abs(.s16|.s32|.s64)", abs},
    {"sad" INTEGER, sad},
    {"add.cc(.u32|.s32|.u64|.s64)", carrying},
    {"addc{.cc}(.u32|.s32|.u64|.s64)", carrying},
    {"sub.cc(.u32|.s32|.u64|.s64)", carrying},
    {"subc{.cc}(.u32|.s32|.u64|.s64)", carrying},
    {"mad(.lo|.hi).cc(.u32|.s32|.u64|.s64)", carrying},
    {"madc(.lo|.hi){.cc}(.u32|.s32|.u64|.s64)", carrying},
    {"add(.s16x2|.u16x2)", packed},
    {"min(.s16x2|.u16x2)", packed},
    {"max(.s16x2|.u16x2)", packed},
    {"min{.relu}.s16x2{.relu}", packed},
    {"max{.relu}.s16x2{.relu}", packed},
    {"min.relu.s32", limit_relu},
    {"min.s32.relu", limit_relu},
    {"max.relu.s32", limit_relu},
    {"max.s32.relu", limit_relu},
    {"dp4a(.s32|.u32)(.s32|.u32)", dp4a},
    {"dp2a(.lo|.hi)(.s32|.u32)(.s32|.u32)", dp2a},
};
}  // namespace

std::span<const Row> integer_rows() { return rows; }

}  // namespace cudanalyst::isa
