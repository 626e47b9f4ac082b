// cvt: all pairs of types, rounding modes, saturation, packed halves.
#include <cfenv>
#include <limits>

#include "half.hpp"
#include "lanes.hpp"

namespace cudanalyst::isa {
namespace {

struct Conversion {
  Type to, from;
  Rounding rounding;
  bool integral, ftz, saturate, relu, finite;
  u8 to_width, from_width;  // of the registers
};

bool is_float(Type t) { return t == Type::f16 || t == Type::bf16 || t == Type::f32 || t == Type::f64 || t == Type::tf32; }

double load_float(Type t, u64 bits) {
  switch (t) {
    case Type::f16: return from_half(static_cast<u16>(bits));
    case Type::bf16: return from_bf16(static_cast<u16>(bits));
    case Type::f32: return std::bit_cast<float>(static_cast<u32>(bits));
    default: return std::bit_cast<double>(bits);
  }
}

int fe_mode(Rounding r) {
  return r == Rounding::zero ? FE_TOWARDZERO : r == Rounding::down ? FE_DOWNWARD : r == Rounding::up ? FE_UPWARD : FE_TONEAREST;
}

template <class F>
auto with_rounding(Rounding r, F f) {
  std::fesetround(fe_mode(r));
  auto result = f();
  asm volatile("" : : "m"(result) : "memory");
  std::fesetround(FE_TONEAREST);
  return result;
}

u64 store_float(Type t, double x, const Conversion& k) {
  if (k.saturate) x = x > 0 ? (x < 1 ? x : 1.0) : 0.0;
  if (k.relu) x = x != x ? x : x > 0 ? x : 0.0;
  if (k.finite && x == x) {
    const double largest = t == Type::f16 ? 65504.0 : t == Type::bf16 ? 3.3895313892515355e38 : 3.4011621342146535e38;
    x = std::min(std::max(x, -largest), largest);
  }
  switch (t) {
    case Type::f16: return x != x ? 0x7fff : round_half(x, k.rounding);
    case Type::bf16: return round_bf16(x, k.rounding);
    case Type::f64: return std::bit_cast<u64>(x);
    case Type::tf32: return x != x ? 0x7fffffffu : std::bit_cast<u32>(static_cast<float>(round_to(x, 11, -126, 3.4011621342146535e38, k.rounding)));
    default: {
      if (x != x) return 0x7fffffffu;
      float f = static_cast<float>(round_to(x, 24, -126, std::numeric_limits<float>::max(), k.rounding));
      // Below the smallest normal, rounded as if exponents had no end.
      if (k.ftz && std::fabs(x) < 0x1p-126 && std::fabs(round_to(x, 24, -1000, 1, k.rounding)) < 0x1p-126) f = std::copysign(0.0f, f);
      return std::bit_cast<u32>(f);
    }
  }
}

double to_integral(double x, Rounding r) {
  switch (r) {
    case Rounding::nearest: return std::nearbyint(x);
    case Rounding::zero: return std::trunc(x);
    case Rounding::down: return std::floor(x);
    default: return std::ceil(x);
  }
}

u64 to_integer(Type t, double x) {
  const unsigned bits = 8 * width(t);
  if (ptx::is_signed(t)) {
    const double limit = std::ldexp(1.0, static_cast<int>(bits) - 1);
    if (x >= limit) return static_cast<u64>((s64{1} << (bits - 2)) - 1 + (s64{1} << (bits - 2)));
    if (x < -limit) return static_cast<u64>(-(s64{1} << (bits - 2)) * 2);
    return static_cast<u64>(static_cast<s64>(x));
  }
  if (x <= 0) return 0;
  if (x >= std::ldexp(1.0, static_cast<int>(bits))) return bits == 64 ? UINT64_MAX : (u64{1} << bits) - 1;
  return static_cast<u64>(x);
}

u64 extend(Type t, u64 bits) {
  const unsigned shift = 64 - 8 * width(t);
  return ptx::is_signed(t) ? static_cast<u64>(static_cast<s64>(bits << shift) >> shift) : bits << shift >> shift;
}

// The NaN that a NaN becomes. Between some formats its payload survives, cut or filled up, in others there is one NaN for all.
u64 convert_nan(const Conversion& k, u64 bits) {
  const bool wide = k.to == Type::f64 || k.from == Type::f64;
  if (!is_float(k.to)) {
    if (width(k.to) == 8) return u64{1} << 63;
    return k.from == Type::f64 ? extend(k.to, u64{1} << (8 * width(k.to) - 1)) : 0;
  }
  if (k.saturate) return 0;
  if (wide && !(k.from == Type::f32 && k.ftz)) {
    const u64 sign = bits >> (8 * width(k.from) - 1) & 1;
    const auto payload = [](Type t) { return t == Type::f64 ? 52u : t == Type::f32 ? 23u : t == Type::f16 ? 10u : 7u; };
    const u32 from = payload(k.from), to = payload(k.to);
    u64 value = bits & ((u64{1} << from) - 1);
    value = from > to ? value >> (from - to) : value << (to - from);
    if (k.from != Type::f64 || k.to != Type::f64 || k.integral) value |= u64{1} << (to - 1);
    const u32 width_bits = 8 * width(k.to);
    return sign << (width_bits - 1) | ((u64{1} << (width_bits - 1 - to)) - 1) << to | value;
  }
  switch (k.to) {
    case Type::f16:
    case Type::bf16: return 0x7fff;
    case Type::f64: return 0x7fffffffe0000000;
    case Type::tf32: return 0x7fffe000;
    default:
      if (k.from == Type::bf16 && !k.ftz) return bits << 16;
      return k.from == Type::f32 && !k.ftz && !k.integral ? bits : 0x7fffffff;
  }
}

u64 convert(const Conversion& k, u64 bits) {
  if (is_float(k.from)) {
    double x = load_float(k.from, bits);
    if (x != x) return convert_nan(k, k.from == Type::f64 ? bits : bits & ((u64{1} << (8 * width(k.from))) - 1));
    if (k.ftz && k.from == Type::f32 && k.to != Type::f16 && std::fabs(x) < 1.1754943508222875e-38) x = std::copysign(0.0, x);
    if (!is_float(k.to)) return extend(k.to, to_integer(k.to, to_integral(x, k.rounding)));
    if (k.integral) {
      Conversion exact = k;
      exact.rounding = Rounding::nearest;
      return store_float(k.to, to_integral(x, k.rounding), exact);
    }
    return store_float(k.to, x, k);
  }
  bits = extend(k.from, bits);
  if (is_float(k.to)) {
    const bool s = ptx::is_signed(k.from);
    if (k.to == Type::f64 && k.saturate) return std::bit_cast<u64>((s && static_cast<s64>(bits) < 0) || bits == 0 ? 0.0 : 1.0);
    if (k.to == Type::f64)
      return std::bit_cast<u64>(with_rounding(k.rounding, [&] {
        volatile u64 v = bits;
        return s ? static_cast<double>(static_cast<s64>(v)) : static_cast<double>(v);
      }));
    if (k.to == Type::f32 && !k.saturate)
      return std::bit_cast<u32>(with_rounding(k.rounding, [&] {
        volatile u64 v = bits;
        return s ? static_cast<float>(static_cast<s64>(v)) : static_cast<float>(v);
      }));
    // To odd first, so that the rounding to fewer bits is single.
    double x = with_rounding(Rounding::zero, [&] {
      volatile u64 v = bits;
      return s ? static_cast<double>(static_cast<s64>(v)) : static_cast<double>(v);
    });
    const bool exact = s ? static_cast<__int128>(x) == static_cast<s64>(bits) : static_cast<unsigned __int128>(x) == bits;
    if (!exact) x = std::bit_cast<double>(std::bit_cast<u64>(x) | 1);
    return store_float(k.to, x, k);
  }
  if (k.saturate) {
    const bool s = ptx::is_signed(k.from), d = ptx::is_signed(k.to);
    const unsigned n = 8 * width(k.to);
    const __int128 value = s ? static_cast<__int128>(static_cast<s64>(bits)) : static_cast<__int128>(bits);
    const __int128 low = d ? -(static_cast<__int128>(1) << (n - 1)) : 0, high = (static_cast<__int128>(1) << (d ? n - 1 : n)) - 1;
    bits = static_cast<u64>(value < low ? low : value > high ? high : value);
  }
  return extend(k.to, bits);
}

u64 lane_bits(const u8* slot, u8 width, int l) {
  u64 bits = 0;
  std::memcpy(&bits, slot + static_cast<size_t>(l) * width, width);
  return bits;
}

void general(Warp& w, const Instr& i) {
  const Conversion& k = *static_cast<const Conversion*>(i.more);
  const u8* a = w.registers + i.a;
  u8* d = w.registers + i.d;
  for (u32 rest = w.mask; rest; rest &= rest - 1) {
    const int l = __builtin_ctz(rest);
    const u64 result = convert(k, lane_bits(a, k.from_width, l));
    std::memcpy(d + static_cast<size_t>(l) * k.to_width, &result, k.to_width);
  }
}
void packed(Warp& w, const Instr& i) {  // d = {a, b}, a in the upper half
  const Conversion& k = *static_cast<const Conversion*>(i.more);
  const u32 *a = reg<u32>(w, i.a), *b = reg<u32>(w, i.b);
  each_slow<u32>(w, i.d, [&](int l) { return static_cast<u32>(convert(k, b[l])) | static_cast<u32>(convert(k, a[l])) << 16; });
}

constexpr auto f32_to_s32 = [](float a) {
  return a != a ? 0 : a >= 2147483648.0f ? INT32_MAX : a < -2147483648.0f ? INT32_MIN : static_cast<s32>(a);
};

Execute quick(const Conversion& k) {
  if (k.ftz || k.saturate || k.relu || k.finite) return nullptr;
  const auto is = [&](Type to, Type from, unsigned tw, unsigned fw) {
    return k.to == to && k.from == from && k.to_width == tw && k.from_width == fw;
  };
  using enum Type;
  const bool narrow = k.to == u32 || k.to == s32;
  if (narrow && (k.from == u64 || k.from == s64) && k.to_width == 4)
    return unary<cudanalyst::u32, cudanalyst::u64, [](cudanalyst::u64 a) { return cudanalyst::u32(a); }>;
  if ((k.to == u64 || k.to == s64) && k.from == u32 && k.from_width == 4)
    return unary<cudanalyst::u64, cudanalyst::u32, [](cudanalyst::u32 a) { return cudanalyst::u64{a}; }>;
  if ((k.to == u64 || k.to == s64) && k.from == s32 && k.from_width == 4)
    return unary<cudanalyst::s64, cudanalyst::s32, [](cudanalyst::s32 a) { return cudanalyst::s64{a}; }>;
  if (narrow && k.to_width == 4 && k.from == u16 && k.from_width == 2)
    return unary<cudanalyst::u32, cudanalyst::u16, [](cudanalyst::u16 a) { return cudanalyst::u32{a}; }>;
  if (narrow && k.to_width == 4 && k.from == s16 && k.from_width == 2)
    return unary<cudanalyst::s32, cudanalyst::s16, [](cudanalyst::s16 a) { return cudanalyst::s32{a}; }>;
  if (k.to == u16 && k.to_width == 2 && (k.from == u32 || k.from == s32) && k.from_width == 4)
    return unary<cudanalyst::u16, cudanalyst::u32, [](cudanalyst::u32 a) { return cudanalyst::u16(a); }>;
  if (is(f64, f32, 8, 4) && !k.integral) return unary<double, float, [](float a) { return static_cast<double>(a); }>;
  if (is(f32, f16, 4, 2))
    return unary<float, cudanalyst::u16, [](cudanalyst::u16 a) {
      const float f = from_half(a);
      return f == f ? f : std::bit_cast<float>(0x7fffffffu);
    }>;
  if (is(f32, bf16, 4, 2)) return unary<cudanalyst::u32, cudanalyst::u16, [](cudanalyst::u16 a) { return cudanalyst::u32{a} << 16; }>;
  if (is(s32, f32, 4, 4) && k.rounding == Rounding::zero) return unary<cudanalyst::s32, float, f32_to_s32>;
  if (k.rounding != Rounding::nearest) return nullptr;
  if (is(f32, s32, 4, 4)) return unary<float, cudanalyst::s32, [](cudanalyst::s32 a) { return static_cast<float>(a); }>;
  if (is(f32, u32, 4, 4)) return unary<float, cudanalyst::u32, [](cudanalyst::u32 a) { return static_cast<float>(a); }>;
  if (is(f64, s32, 8, 4)) return unary<double, cudanalyst::s32, [](cudanalyst::s32 a) { return static_cast<double>(a); }>;
  if (k.integral) return nullptr;
  if (is(f32, f64, 4, 8)) return unary<float, double, [](double a) { return static_cast<float>(a); }>;
  if (is(f16, f32, 2, 4)) return unary<cudanalyst::u16, float, [](float a) { return to_half(a); }>;
  if (is(bf16, f32, 2, 4)) return unary<cudanalyst::u16, float, [](float a) { return to_bf16(a); }>;
  return nullptr;
}

Conversion* conversion(Decoder& d, Type to, Type from) {
  auto* k = new Conversion{};
  d.program.owned.emplace_back(k, [](void* p) { delete static_cast<Conversion*>(p); });
  k->to = to;
  k->from = from;
  k->ftz = d.has(".ftz");
  k->saturate = d.has(".sat");
  k->relu = d.has(".relu");
  k->finite = d.has(".satfinite");
  k->integral = d.has(".rni") || d.has(".rzi") || d.has(".rmi") || d.has(".rpi");
  k->rounding = d.has(".rz") || d.has(".rzi")   ? Rounding::zero
                : d.has(".rm") || d.has(".rmi") ? Rounding::down
                : d.has(".rp") || d.has(".rpi") ? Rounding::up
                : d.has(".rna")                 ? Rounding::away
                                                : Rounding::nearest;
  return k;
}

u32 any_source(Decoder& d, size_t n, Type t, u8& bytes) {
  const Operand& o = d.operand(n);
  if (o.kind == Operand::reg) {
    bytes = static_cast<u8>(d.register_bytes(o.index));
    if (bytes < width(t) || o.negated) Decoder::reject("a source that is too narrow");
    return d.register_slot(o.index);
  }
  bytes = static_cast<u8>(std::max(2u, width(t)));
  return d.source(n, bytes);
}

void cvt(Decoder& d) {
  d.expect_operands(2);
  const Type to = d.type(0), from = d.type(1);
  Conversion* k = conversion(d, to, from);
  if (is_float(from) && !is_float(to) && !k->integral) Decoder::reject("it needs an integer rounding");
  const bool real_target = is_float(to), real_source = is_float(from);
  if (k->integral && !real_source) Decoder::reject("integer rounding of an integer");
  if (!real_target && !real_source && k->rounding != Rounding::nearest) Decoder::reject("rounding between integers");
  const Operand& target = d.operand(0);
  if (target.kind != Operand::reg || d.register_bytes(target.index) < width(to)) Decoder::reject("a destination that is too narrow");
  k->to_width = static_cast<u8>(d.register_bytes(target.index));
  d.i.d = d.register_slot(target.index);
  d.i.a = any_source(d, 1, from, k->from_width);
  d.i.more = k;
  const Execute fast = quick(*k);
  finish(d, fast ? fast : general, MixClass::conversion);
}
void cvt_packed(Decoder& d) {
  d.expect_operands(3);
  Conversion* k = conversion(d, d.type(0) == Type::f16x2 ? Type::f16 : Type::bf16, Type::f32);
  d.i.d = d.target(0, 4);
  d.i.a = d.source(1, 4);
  d.i.b = d.source(2, 4);
  d.i.more = k;
  finish(d, packed, MixClass::conversion);
}
// Away from zero: a GPU adds half a unit to the bits, but for a NaN, and cuts them; .satfinite steps back from an exponent of all ones.
template <bool finite>
constexpr auto nearest_away = [](u32 a) {
  const u32 r = ((a & 0x7fffffff) > 0x7f800000 ? a : a + 0x1000) & ~0x1fffu;
  return finite && (r & 0x7f800000) == 0x7f800000 ? r - 0x2000 : r;
};
void cvt_tf32(Decoder& d) {
  d.expect_operands(2);
  if (d.has(".rna")) {
    sources(d, 1, 4);
    return finish(d, d.has(".satfinite") ? unary<u32, u32, nearest_away<true>> : unary<u32, u32, nearest_away<false>>, MixClass::conversion);
  }
  Conversion* k = conversion(d, Type::tf32, Type::f32);
  k->to_width = k->from_width = 4;
  d.i.d = d.target(0, 4);
  d.i.a = d.source(1, 4);
  d.i.more = k;
  finish(d, general, MixClass::conversion);
}

#define INTEGER "(.u8|.s8|.u16|.s16|.u32|.s32|.u64|.s64)"
#define REAL "(.f16|.bf16|.f32|.f64)"
constexpr Row rows[] = {
    {"cvt{.sat}" INTEGER INTEGER, cvt},
    {"cvt(.rni|.rzi|.rmi|.rpi){.ftz}{.sat}" INTEGER REAL, cvt},
    {"cvt(.rn|.rz|.rm|.rp){.sat}" REAL INTEGER, cvt},
    {"cvt{.rn|.rz|.rm|.rp|.rni|.rzi|.rmi|.rpi}{.ftz}{.sat}" REAL REAL, cvt},
    {"cvt(.rn|.rz){.relu}{.satfinite}(.f16|.bf16).f32", cvt},
    {"cvt(.rn|.rz).satfinite.relu(.f16|.bf16).f32", cvt},
    {"cvt(.rn|.rz){.relu}{.satfinite}(.f16x2|.bf16x2).f32", cvt_packed},
    {"cvt(.rn|.rz).satfinite.relu(.f16x2|.bf16x2).f32", cvt_packed},
    {"cvt.rna{.satfinite}.tf32.f32", cvt_tf32},
    {"cvt(.rn|.rz){.relu}.tf32.f32", cvt_tf32},
};
}  // namespace

std::span<const Row> convert_rows() { return rows; }

}  // namespace cudanalyst::isa
