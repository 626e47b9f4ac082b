// f16 and bf16 arithmetic, single and packed.
#include "half.hpp"

#include "lanes.hpp"

namespace cudanalyst::isa {

double round_to(double x, int precision, int min_exponent, double largest, Rounding mode) {
  if (x != x || std::isinf(x) || x == 0) return x;
  int exponent;
  std::frexp(x, &exponent);
  const int quantum = std::max(exponent - 1, min_exponent) - (precision - 1);
  const double scaled = std::ldexp(std::fabs(x), -quantum), below = std::floor(scaled);
  const double rest = scaled - below;
  bool up = false;
  const bool negative = x < 0;
  switch (mode) {
    case Rounding::nearest: up = rest > 0.5 || (rest == 0.5 && std::fmod(below, 2) != 0); break;
    case Rounding::away: up = rest >= 0.5; break;
    case Rounding::zero: break;
    case Rounding::down: up = negative && rest > 0; break;
    case Rounding::up: up = !negative && rest > 0; break;
  }
  double result = std::ldexp(below + (up ? 1 : 0), quantum);
  if (result > largest) {
    const bool infinite =
        mode == Rounding::nearest || mode == Rounding::away || (mode == Rounding::up && !negative) || (mode == Rounding::down && negative);
    result = infinite ? INFINITY : largest;
  }
  return negative ? -result : result;
}

namespace {

struct Half {
  static float from(u16 h) { return from_half(h); }
  static u16 to(float f) { return to_half(f); }
  // The product is exact in float, the sum is rounded to odd at 24 bits, then once to 11.
  static u16 fma(u16 a, u16 b, u16 c) {
    const float product = from(a) * from(b), addend = from(c);
    const float sum = product + addend;
    if (!(std::fabs(sum) < 1e30f)) return to(sum);
    const float bb = sum - product, error = (product - (sum - bb)) + (addend - bb);
    u32 bits = std::bit_cast<u32>(sum);
    if (error != 0 && !(bits & 1)) bits += (error > 0) == (sum > 0) ? 1 : u32(-1);
    return to(std::bit_cast<float>(bits));
  }
  static constexpr u16 one = 0x3c00, smallest_normal = 0x0400;
};
struct Brain {
  static float from(u16 h) { return from_bf16(h); }
  static u16 to(float f) { return to_bf16(f); }
  static u16 fma(u16 a, u16 b, u16 c) {
    const double sum = sum_to_odd(static_cast<double>(from(a)) * static_cast<double>(from(b)), static_cast<double>(from(c)));
    return round_bf16(sum, Rounding::nearest);
  }
  static constexpr u16 one = 0x3f80, smallest_normal = 0x0080;
};

template <class H>
u16 finish_half(u16 r, const Instr& i) {
  if (i.option & 1 && (r & 0x7fff) < H::smallest_normal) r &= 0x8000;  // .ftz
  const bool is_nan = H::from(r) != H::from(r);
  if (i.option & 2) r = is_nan || r & 0x8000 ? 0 : r > H::one ? H::one : r;  // .sat
  if (i.option & 4) r = is_nan ? u16(0x7fff) : r & 0x8000 ? u16(0) : r;      // .relu
  return r;
}
template <class H>
u16 prepare(u16 a, const Instr& i) {
  return i.option & 1 && (a & 0x7fff) < H::smallest_normal ? a & 0x8000 : a;
}

enum Operation { op_add, op_sub, op_mul, op_fma, op_min, op_max, op_neg, op_abs, op_exp2, op_tanh };

// With .ftz a result is zero where it is below the smallest normal, rounded as if exponents had no end. Only f16 has .ftz.
bool tiny(double exact, const Instr& i) {
  constexpr double smallest = 0x1p-14;
  return i.option & 1 && std::fabs(exact) < smallest && std::fabs(round_to(exact, 11, -1000, 65504.0, Rounding::nearest)) < smallest;
}

template <class H, int op>
u16 limit_of(u16 a, u16 b, const Instr& i) {
  const float x = H::from(a), y = H::from(b);
  const bool nan_a = x != x, nan_b = y != y;
  if (nan_a || nan_b) return (i.option & 8) || (nan_a && nan_b) ? u16(0x7fff) : nan_a ? b : a;
  const bool a_lower = x < y || (x == y && (a & 0x8000) != 0);  // minus zero is below zero
  return (op == op_min) == a_lower ? a : b;
}

template <class H, int op>
u16 compute(u16 a, u16 b, u16 c, const Instr& i) {
  if constexpr (op == op_neg || op == op_abs) {
    if (H::from(a) != H::from(a)) return 0x7fff;
    a = prepare<H>(a, i);
    return op == op_neg ? u16(a ^ 0x8000) : u16(a & 0x7fff);
  }
  a = prepare<H>(a, i);
  b = prepare<H>(b, i);
  if constexpr (op == op_fma) {
    c = prepare<H>(c, i);
    const u16 r = H::fma(a, b, c);
    if (i.option & 1 && (r & 0x7fff) == H::smallest_normal &&
        tiny(sum_to_odd(static_cast<double>(H::from(a)) * static_cast<double>(H::from(b)), static_cast<double>(H::from(c))), i))
      return finish_half<H>(u16(r & 0x8000), i);
    return finish_half<H>(r, i);
  }
  const float x = H::from(a), y = H::from(b);
  if constexpr (op == op_add) return finish_half<H>(H::to(x + y), i);
  if constexpr (op == op_sub) return finish_half<H>(H::to(x - y), i);
  if constexpr (op == op_mul) {
    if (tiny(x * y, i)) return i.option & 2 ? u16(0) : u16((a ^ b) & 0x8000);  // the product is exact
    return finish_half<H>(H::to(x * y), i);
  }
  if constexpr (op == op_exp2) return finish_half<H>(H::to(std::exp2(x)), i);
  if constexpr (op == op_tanh) return finish_half<H>(H::to(std::tanh(x)), i);
  // Minimum and maximum; with .xorsign.abs of the magnitudes, and the sign is the exclusive or.
  if (i.option & 16) {
    const u16 r = limit_of<H, op>(a & 0x7fff, b & 0x7fff, i);
    return r == 0x7fff ? r : u16(r | ((a ^ b) & 0x8000));
  }
  return limit_of<H, op>(a, b, i);
}

template <class H, int op, bool packed>
void run(Warp& w, const Instr& i) {
  using Bits = std::conditional_t<packed, u32, u16>;
  const Bits *a = reg<Bits>(w, i.a), *b = reg<Bits>(w, i.b == none ? i.a : i.b), *c = reg<Bits>(w, i.c == none ? i.a : i.c);
  each_slow<Bits>(w, i.d, [&](int l) {
    if constexpr (packed)
      return u32{compute<H, op>(u16(a[l]), u16(b[l]), u16(c[l]), i)} | u32{compute<H, op>(u16(a[l] >> 16), u16(b[l] >> 16), u16(c[l] >> 16), i)}
                                                                           << 16;
    else return compute<H, op>(a[l], b[l], c[l], i);
  });
}

template <int op, unsigned n>
void half(Decoder& d) {
  const Type t = d.type();
  sources(d, n, width(t));
  d.i.option = static_cast<u8>((d.has(".ftz") ? 1 : 0) | (d.has(".sat") ? 2 : 0) | (d.has(".relu") ? 4 : 0) | (d.has(".NaN") ? 8 : 0) |
                               (d.has(".xorsign") ? 16 : 0));
  finish(d,
         t == Type::f16     ? run<Half, op, false>
         : t == Type::f16x2 ? run<Half, op, true>
         : t == Type::bf16  ? run<Brain, op, false>
                            : run<Brain, op, true>,
         op == op_exp2 || op == op_tanh ? MixClass::special_function : MixClass::fp16);
}

constexpr Row rows[] = {
    {"add{.rn}{.ftz}{.sat}(.f16|.f16x2)", half<op_add, 2>},
    {"add{.rn}(.bf16|.bf16x2)", half<op_add, 2>},
    {"sub{.rn}{.ftz}{.sat}(.f16|.f16x2)", half<op_sub, 2>},
    {"sub{.rn}(.bf16|.bf16x2)", half<op_sub, 2>},
    {"mul{.rn}{.ftz}{.sat}(.f16|.f16x2)", half<op_mul, 2>},
    {"mul{.rn}(.bf16|.bf16x2)", half<op_mul, 2>},
    {"fma.rn{.ftz}{.sat|.relu}(.f16|.f16x2)", half<op_fma, 3>},
    {"fma.rn{.relu}(.bf16|.bf16x2)", half<op_fma, 3>},
    {"min{.ftz}{.NaN}(.f16|.f16x2)", half<op_min, 2>},
    {"min{.ftz}{.NaN}.xorsign.abs(.f16|.f16x2)", half<op_min, 2>},
    {"min{.NaN}(.bf16|.bf16x2)", half<op_min, 2>},
    {"min{.NaN}.xorsign.abs(.bf16|.bf16x2)", half<op_min, 2>},
    {"max{.ftz}{.NaN}(.f16|.f16x2)", half<op_max, 2>},
    {"max{.ftz}{.NaN}.xorsign.abs(.f16|.f16x2)", half<op_max, 2>},
    {"max{.NaN}(.bf16|.bf16x2)", half<op_max, 2>},
    {"max{.NaN}.xorsign.abs(.bf16|.bf16x2)", half<op_max, 2>},
    {"neg{.ftz}(.f16|.f16x2)", half<op_neg, 1>},
    {"neg(.bf16|.bf16x2)", half<op_neg, 1>},
    {"abs{.ftz}(.f16|.f16x2)", half<op_abs, 1>},
    {"abs(.bf16|.bf16x2)", half<op_abs, 1>},
    {"ex2.approx(.f16|.f16x2)", half<op_exp2, 1>},
    {"ex2.approx.ftz(.bf16|.bf16x2)", half<op_exp2, 1>},
    {"tanh.approx(.f16|.f16x2|.bf16|.bf16x2)", half<op_tanh, 1>},
};
}  // namespace

std::span<const Row> half_rows() { return rows; }

}  // namespace cudanalyst::isa
