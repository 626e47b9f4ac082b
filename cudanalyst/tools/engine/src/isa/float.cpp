// f32 and f64 arithmetic. Results round once, as PTX says; approximate functions are computed more exactly than a GPU does, so they may differ
// from one in the last place. Rounding other than to nearest, flushing of subnormals, and saturation wrap the plain executor.
#include <cfenv>
#include <cmath>

#include "lanes.hpp"

namespace cudanalyst::isa {
namespace {

constexpr float nan32() { return std::bit_cast<float>(0x7fffffffu); }
inline float quiet(float r) { return r == r ? r : nan32(); }
inline double quiet(double r) { return r; }
// A selected operand, not a computed one: a NaN may still be a signalling one.
inline float quieted(float r) { return quiet(r); }
inline double quieted(double r) { return r == r ? r : r + r; }

constexpr auto add_of = [](auto a, auto b) { return quiet(a + b); };
constexpr auto sub_of = [](auto a, auto b) { return quiet(a - b); };
constexpr auto mul_of = [](auto a, auto b) { return quiet(a * b); };
constexpr auto div_of = [](auto a, auto b) { return quiet(a / b); };
constexpr auto fma32 = [](float a, float b, float c) { return quiet(__builtin_fmaf(a, b, c)); };
constexpr auto fma64 = [](double a, double b, double c) { return __builtin_fma(a, b, c); };

// A NaN loses; minus zero is below zero.
constexpr auto min_of = [](auto a, auto b) {
  using T = decltype(a);
  using U = std::conditional_t<sizeof(T) == 4, u32, u64>;
  const T equal = std::bit_cast<T>(U(std::bit_cast<U>(a) | std::bit_cast<U>(b)));
  const T lower = a < b ? a : b;
  const T either = a == b ? equal : lower;
  return quieted(a != a ? b : b != b ? a : either);
};
constexpr auto max_of = [](auto a, auto b) {
  using T = decltype(a);
  using U = std::conditional_t<sizeof(T) == 4, u32, u64>;
  const T equal = std::bit_cast<T>(U(std::bit_cast<U>(a) & std::bit_cast<U>(b)));
  const T upper = b < a ? a : b;
  const T either = a == b ? equal : upper;
  return quieted(a != a ? b : b != b ? a : either);
};
constexpr auto min_nan = [](float a, float b) { return a != a || b != b ? nan32() : min_of(a, b); };
constexpr auto max_nan = [](float a, float b) { return a != a || b != b ? nan32() : max_of(a, b); };

// .xorsign.abs: the magnitudes are compared, the sign is the exclusive or of both.
template <auto F>
constexpr auto signs_apart = [](float a, float b) {
  const float r = F(std::fabs(a), std::fabs(b));
  return r != r ? r : std::bit_cast<float>(std::bit_cast<u32>(r) | ((std::bit_cast<u32>(a) ^ std::bit_cast<u32>(b)) & 0x80000000u));
};

inline float flush(float x) { return std::fabs(x) < 1.17549435e-38f ? std::copysign(0.0f, x) : x; }

// Of what a result that is flushed where it is tiny was made.
enum class Tiny : u8 { never, product, quotient, sum_of_product, reciprocal };

struct Wrap {
  const Instr* inner;
  int rounding;
  Tiny tiny;
  bool flush_sources, flush_result, saturate, wide;
  unsigned n;
  u32 source[3], flushed[3];
};

// A result is flushed when, rounded as if exponents had no end, it is below the smallest normal. Where rounding made it the smallest normal, that
// is seen by doing the same 24 powers of two higher. The sources are copies by then, so they can be changed.
void flush_tiny(Warp& w, const Instr& i, const Wrap& k) {
  constexpr float smallest = 1.17549435e-38f, up = 16777216.0f;
  float* const d = reg<float>(w, i.d);
  u32 suspects = 0;
  for (int l = 0; l < 32; ++l) suspects |= static_cast<u32>(std::fabs(d[l]) == smallest) << l;
  suspects &= w.mask;
  if (!suspects) return;
  float rounded[32];
  std::memcpy(rounded, d, sizeof rounded);
  float *a = reg<float>(w, k.flushed[0]), *b = k.n > 1 ? reg<float>(w, k.flushed[1]) : nullptr, *c = k.n > 2 ? reg<float>(w, k.flushed[2]) : nullptr;
  for (u32 rest = suspects; rest; rest &= rest - 1) {
    const int l = __builtin_ctz(rest);
    if (k.tiny == Tiny::reciprocal) {
      a[l] /= up;
      continue;
    }
    if (k.tiny == Tiny::quotient || std::fabs(a[l]) < std::fabs(b[l])) a[l] *= up;
    else b[l] *= up;
    if (c) c[l] *= up;
  }
  if (k.rounding != FE_TONEAREST) std::fesetround(k.rounding);
  k.inner->fn(w, *k.inner);
  if (k.rounding != FE_TONEAREST) std::fesetround(FE_TONEAREST);
  for (int l = 0; l < 32; ++l)
    if (w.mask >> l & 1) d[l] = suspects >> l & 1 && std::fabs(d[l]) < smallest * up ? std::copysign(0.0f, rounded[l]) : rounded[l];
}

void wrapped(Warp& w, const Instr& i) {
  const Wrap& k = *static_cast<const Wrap*>(i.more);
  if (k.flush_sources)
    for (unsigned s = 0; s < k.n; ++s) {
      const float* from = reg<float>(w, k.source[s]);
      float* to = reg<float>(w, k.flushed[s]);
      for (int l = 0; l < 32; ++l) to[l] = flush(from[l]);
    }
  if (k.rounding != FE_TONEAREST) std::fesetround(k.rounding);
  k.inner->fn(w, *k.inner);
  if (k.rounding != FE_TONEAREST) std::fesetround(FE_TONEAREST);
  if (k.wide) {
    if (k.saturate) {
      const double* d = reg<double>(w, i.d);
      each<double>(w, i.d, [&](int l) { return d[l] > 0 ? (d[l] < 1 ? d[l] : 1.0) : 0.0; });
    }
    return;
  }
  const float* d = reg<float>(w, i.d);
  if (k.flush_result) {
    if (k.tiny != Tiny::never) flush_tiny(w, i, k);
    each<float>(w, i.d, [&](int l) { return flush(d[l]); });
  }
  if (k.saturate) each<float>(w, i.d, [&](int l) { return d[l] > 0 ? (d[l] < 1 ? d[l] : 1.0f) : 0.0f; });
}

}  // namespace

// Applies .rz .rm .rp .ftz .sat of the statement to the decoded instruction.
void wrap_float(Decoder& d, unsigned n, bool float_result) {
  int rounding = FE_TONEAREST;
  if (d.has(".rz")) rounding = FE_TOWARDZERO;
  if (d.has(".rm")) rounding = FE_DOWNWARD;
  if (d.has(".rp")) rounding = FE_UPWARD;
  const bool ftz = d.has(".ftz"), saturate = d.has(".sat");
  if (rounding == FE_TONEAREST && !ftz && !saturate) return;
  const std::string_view op = d.statement->op;
  const Tiny tiny = op.starts_with("mul")                            ? Tiny::product
                    : op.starts_with("div")                          ? Tiny::quotient
                    : op.starts_with("fma") || op.starts_with("mad") ? Tiny::sum_of_product
                    : op.starts_with("rcp")                          ? Tiny::reciprocal
                                                                     : Tiny::never;
  auto* k = new Wrap{nullptr, rounding, tiny, ftz, ftz && float_result, saturate, width(d.types.back()) == 8, n, {d.i.a, d.i.b, d.i.c}, {}};
  d.program.owned.emplace_back(k, [](void* p) { delete static_cast<Wrap*>(p); });
  Instr inner = d.i;
  if (ftz) {
    u32* slot[3] = {&inner.a, &inner.b, &inner.c};
    for (unsigned s = 0; s < n; ++s) *slot[s] = k->flushed[s] = d.scratch(4);
  }
  k->inner = d.keep(inner);
  d.i.fn = wrapped;
  d.i.more = k;
}

namespace {

template <auto F>
void two(Decoder& d) {
  const bool wide = d.type() == Type::f64;
  sources(d, 2, wide ? 8 : 4);
  finish(d, wide ? binary<double, double, double, F> : binary<float, float, float, F>, wide ? MixClass::fp64 : MixClass::fp32);
  wrap_float(d, 2, true);
}
void fma(Decoder& d) {
  const bool wide = d.type() == Type::f64;
  sources(d, 3, wide ? 8 : 4);
  finish(d, wide ? ternary<double, double, double, double, fma64> : ternary<float, float, float, float, fma32>,
         wide ? MixClass::fp64 : MixClass::fp32);
  wrap_float(d, 3, true);
}
template <auto plain, auto with_nan>
void limit(Decoder& d) {
  if (d.type() == Type::f64) return two<plain>(d);
  const bool nan = d.has(".NaN"), apart = d.has(".xorsign");
  sources(d, 2, 4);
  finish(d,
         apart ? (nan ? binary<float, float, float, signs_apart<with_nan>> : binary<float, float, float, signs_apart<plain>>)
               : (nan ? binary<float, float, float, with_nan> : binary<float, float, float, plain>),
         MixClass::fp32);
  wrap_float(d, 2, true);
}

void sign(Decoder& d) {
  const bool wide = d.type() == Type::f64, negate = d.statement->op[0] == 'n';
  sources(d, 1, wide ? 8 : 4);
  finish(d,
         wide ? (negate ? unary<double, double, [](double a) { return a == a ? -a : a + a; }>
                        : unary<double, double, [](double a) { return a == a ? std::fabs(a) : a + a; }>)
              : (negate ? unary<float, float, [](float a) { return quiet(-a); }> : unary<float, float, [](float a) { return quiet(std::fabs(a)); }>),
         wide ? MixClass::fp64 : MixClass::fp32);
  wrap_float(d, 1, true);
}
void copysign(Decoder& d) {
  const bool wide = d.type() == Type::f64;
  sources(d, 2, wide ? 8 : 4);
  finish(d,
         wide ? binary<u64, u64, u64, [](u64 a, u64 b) { return (b & ~(u64{1} << 63)) | (a & u64{1} << 63); }>
              : binary<u32, u32, u32, [](u32 a, u32 b) { return (b & 0x7fffffffu) | (a & 0x80000000u); }>,
         wide ? MixClass::fp64 : MixClass::fp32);
}

template <class T, class U, int test>
constexpr auto is_class = [](T a) {
  const U bits = std::bit_cast<U>(a) & U(U(~U(0)) >> 1);
  const U infinity = sizeof(T) == 4 ? U(0x7f800000u) : U(0x7ff0000000000000ull), normal = sizeof(T) == 4 ? U(0x00800000u) : U(0x0010000000000000ull);
  switch (test) {
    case 0: return u8(bits < infinity);
    case 1: return u8(bits == infinity);
    case 2: return u8(bits <= infinity);
    case 3: return u8(bits > infinity);
    case 4: return u8((bits >= normal && bits < infinity) || bits == 0);  // a GPU counts zero among them
    default: return u8(bits < normal && bits != 0);
  }
};
template <class T, class U>
Execute pick_test(int n) {
  constexpr Execute all[] = {unary<u8, T, is_class<T, U, 0>>, unary<u8, T, is_class<T, U, 1>>, unary<u8, T, is_class<T, U, 2>>,
                             unary<u8, T, is_class<T, U, 3>>, unary<u8, T, is_class<T, U, 4>>, unary<u8, T, is_class<T, U, 5>>};
  return all[n];
}
void testp(Decoder& d) {
  d.expect_operands(2);
  const bool wide = d.type() == Type::f64;
  d.i.d = d.target(0, 1);
  d.i.a = d.source(1, wide ? 8 : 4);
  const char* names[] = {".finite", ".infinite", ".number", ".notanumber", ".normal", ".subnormal"};
  int n = 0;
  while (!d.has(names[n])) ++n;
  finish(d, wide ? pick_test<double, u64>(n) : pick_test<float, u32>(n), MixClass::predicate);
}

template <auto F, auto G>
void one(Decoder& d) {
  const bool wide = d.type() == Type::f64;
  sources(d, 1, wide ? 8 : 4);
  finish(d, wide ? unary<double, double, G> : unary<float, float, F>, wide ? MixClass::fp64 : MixClass::special_function);
  wrap_float(d, 1, true);
}
template <auto F>
void function(Decoder& d) {
  sources(d, 1, 4);
  finish(d, unary_slow<float, float, F>, MixClass::special_function);
  wrap_float(d, 1, true);
}
// The f64 approximations keep the upper half of a double, as the instruction does.
constexpr auto cut = [](double r) { return std::bit_cast<double>(std::bit_cast<u64>(r) & 0xffffffff00000000ull); };
constexpr auto upper = [](double r) { return r != r ? std::bit_cast<double>(0x7fffffff00000000ull) : cut(r); };
constexpr auto rcp64 = [](double a) { return 1 / a; };
// They take the upper half of their source, too: of a NaN with an empty one they make zero, as of an infinity.
constexpr auto rcp64_ftz = [](double a) {
  if (std::fabs(a) < 0x1p-1022) return std::copysign(static_cast<double>(INFINITY), a);
  const double r = upper(1 / cut(a));
  return std::fabs(r) < 0x1p-1022 ? std::copysign(0.0, a) : r;
};
constexpr auto rsqrt64_ftz = [](double a) { return std::fabs(a) < 0x1p-1022 ? std::copysign(INFINITY, a) : upper(1 / std::sqrt(cut(a))); };
void approximate64(Decoder& d) {
  sources(d, 1, 8);
  finish(d, d.statement->op[1] == 'c' ? unary_slow<double, double, rcp64_ftz> : unary_slow<double, double, rsqrt64_ftz>, MixClass::fp64);
}
constexpr auto rcp32 = [](float a) { return quiet(1 / a); };
constexpr auto sqrt32 = [](float a) { return quiet(__builtin_sqrtf(a)); };
constexpr auto sqrt64 = [](double a) { return __builtin_sqrt(a); };
constexpr auto rsqrt32 = [](float a) { return quiet(static_cast<float>(1 / __builtin_sqrt(static_cast<double>(a)))); };
constexpr auto rsqrt64 = [](double a) { return 1 / __builtin_sqrt(a); };
constexpr auto exp2_of = [](float a) { return quiet(std::exp2(a)); };
constexpr auto log2_of = [](float a) { return quiet(std::log2(a)); };
// As a GPU reduces the angle: in turns, cut to a float and then to multiples of 2^-25. Large angles lose what they lose there, small ones are zero.
template <bool cosine>
constexpr auto turn = [](float a) {
  const double exact = static_cast<double>(a) * static_cast<double>(0.15915494309189535f);
  auto turns = static_cast<float>(exact);
  if (std::fabs(static_cast<double>(turns)) > std::fabs(exact)) turns = std::nextafter(turns, 0.0f);
  if (!(std::fabs(turns) < INFINITY)) return std::bit_cast<float>(0x7fffffffu);
  const double part = std::trunc(std::fmod(static_cast<double>(std::fabs(turns)), 1.0) * 0x1p25) * 0x1p-25;
  // Quarters of a turn are mirrored by inverting the bits, so that the last multiple before a quarter is as good as the quarter.
  const int quarter = static_cast<int>(part * 4);
  const double rest = part - quarter * 0.25;
  const int q = (quarter + (cosine ? 1 : 0)) & 3;
  const double value = std::sin((q & 1 ? 0.25 - 0x1p-25 - rest : rest) * 6.283185307179586);
  const double result = q & 2 ? -value : value;
  return static_cast<float>(cosine ? result : std::signbit(a) ? -result : result);
};
// The reciprocal of a large divisor is subnormal, which the instruction flushes.
constexpr auto div_approximate = [](float a, float b) {
  if (std::fabs(b) > 0x1p126f && std::fabs(b) < INFINITY) return quiet(a * std::copysign(0.0f, b));
  return quiet(a / b);
};
constexpr auto tanh_of = [](float a) { return quiet(static_cast<float>(std::tanh(static_cast<double>(a)))); };

#define ROUND "{.rn|.rz|.rm|.rp}"
constexpr Row rows[] = {
    {"add" ROUND "{.ftz}{.sat}.f32", two<add_of>},
    {"add" ROUND ".f64", two<add_of>},
    {"sub" ROUND "{.ftz}{.sat}.f32", two<sub_of>},
    {"sub" ROUND ".f64", two<sub_of>},
    {"mul" ROUND "{.ftz}{.sat}.f32", two<mul_of>},
    {"mul" ROUND ".f64", two<mul_of>},
    {"fma(.rn|.rz|.rm|.rp){.ftz}{.sat}.f32", fma},
    {"fma(.rn|.rz|.rm|.rp).f64", fma},
    {"mad" ROUND "{.ftz}{.sat}.f32", fma},
    {"mad(.rn|.rz|.rm|.rp).f64", fma},
    {"div(.rn|.rz|.rm|.rp){.ftz}.f32", two<div_of>},
    {"div.full{.ftz}.f32", two<div_of>},
    {"div.approx{.ftz}.f32", two<div_approximate>},
    {"div(.rn|.rz|.rm|.rp).f64", two<div_of>},
    {"min{.ftz}{.NaN}.f32", limit<min_of, min_nan>},
    {"min{.ftz}{.NaN}.xorsign.abs.f32", limit<min_of, min_nan>},
    {"min.f64", limit<min_of, min_nan>},
    {"max{.ftz}{.NaN}.f32", limit<max_of, max_nan>},
    {"max{.ftz}{.NaN}.xorsign.abs.f32", limit<max_of, max_nan>},
    {"max.f64", limit<max_of, max_nan>},
    {"neg{.ftz}.f32", sign},
    {"neg.f64", sign},
    {"abs{.ftz}.f32", sign},
    {"abs.f64", sign},
    {"copysign(.f32|.f64)", copysign},
    {"testp(.finite|.infinite|.number|.notanumber|.normal|.subnormal)(.f32|.f64)", testp},
    {"rcp(.approx|.rn|.rz|.rm|.rp){.ftz}.f32", one<rcp32, rcp64>},
    {"rcp(.rn|.rz|.rm|.rp).f64", one<rcp32, rcp64>},
    {"sqrt(.approx|.rn|.rz|.rm|.rp){.ftz}.f32", one<sqrt32, sqrt64>},
    {"sqrt(.rn|.rz|.rm|.rp).f64", one<sqrt32, sqrt64>},
    {"rsqrt.approx{.ftz}.f32", one<rsqrt32, rsqrt64>},
    {"rsqrt.approx.f64", one<rsqrt32, rsqrt64>},
    {"rcp.approx.ftz.f64", approximate64},
    {"rsqrt.approx.ftz.f64", approximate64},
    {"ex2.approx{.ftz}.f32", function<exp2_of>},
    {"lg2.approx{.ftz}.f32", function<log2_of>},
    {"sin.approx{.ftz}.f32", function<turn<false>>},
    {"cos.approx{.ftz}.f32", function<turn<true>>},
    {"tanh.approx.f32", function<tanh_of>},
};
}  // namespace

std::span<const Row> float_rows() { return rows; }

}  // namespace cudanalyst::isa
