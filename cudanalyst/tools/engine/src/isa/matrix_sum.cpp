// Sums of products as the tensor cores of an H200 make them; nothing specifies them. What is known: all products of an output, and its addend, are
// exact, are shifted to the largest exponent among them, cut to 25 bits behind the point towards zero, and added exactly; the sum is cut to f32
// or rounded to f16. Eight-bit floats become f16, in two halves, and the addend comes last; the forms without tensor core are chains of fma.
#include <algorithm>
#include <cmath>

#include "half.hpp"
#include "matrix.hpp"

namespace cudanalyst::isa {

Element element_of(std::string_view m) {
  constexpr std::pair<std::string_view, Element> names[] = {
      {".f16", Element::f16},   {".bf16", Element::bf16}, {".tf32", Element::tf32}, {".f32", Element::f32}, {".f64", Element::f64},
      {".e4m3", Element::e4m3}, {".e5m2", Element::e5m2}, {".s8", Element::s8},     {".u8", Element::u8},   {".s4", Element::s4},
      {".u4", Element::u4},     {".b1", Element::b1},     {".s32", Element::s32}};
  for (const auto& [name, element] : names)
    if (name == m) return element;
  return Element::none;
}

unsigned bits_of(Element e) {
  switch (e) {
    case Element::f64: return 64;
    case Element::f16:
    case Element::bf16: return 16;
    case Element::e4m3:
    case Element::e5m2:
    case Element::s8:
    case Element::u8: return 8;
    case Element::s4:
    case Element::u4: return 4;
    case Element::b1: return 1;
    default: return 32;
  }
}

namespace {

constexpr s32 point = 25;      // bits kept behind the point of the largest exponent
constexpr s32 never = -20000;  // exponent of zero

// significand * 2^(exponent - fraction bits of the format); `special` for infinities and NaN.
struct Parts {
  s32 significand, exponent;
  bool special;
};
Parts split(u32 bits, unsigned exponent_bits, unsigned fraction_bits, bool has_infinity) {
  const u32 fraction = bits & ((1u << fraction_bits) - 1), exponent = bits >> fraction_bits & ((1u << exponent_bits) - 1);
  const bool negative = bits >> (exponent_bits + fraction_bits) & 1;
  const u32 top = (1u << exponent_bits) - 1;
  const s32 bias = static_cast<s32>(top / 2);
  const bool special = exponent == top && (has_infinity || fraction == (1u << fraction_bits) - 1);
  s32 value = static_cast<s32>(fraction | (exponent ? 1u << fraction_bits : 0));
  if (value == 0) return {0, never, special};
  return {negative ? -value : value, static_cast<s32>(std::max(exponent, 1u)) - bias, special};
}
Parts split(Element e, u32 bits) {
  switch (e) {
    case Element::f16: return split(bits, 5, 10, true);
    case Element::bf16: return split(bits, 8, 7, true);
    case Element::tf32: return split(bits >> 13, 8, 10, true);
    case Element::e4m3: return split(bits, 4, 3, false);
    case Element::e5m2: return split(bits, 5, 2, true);
    default: return split(bits, 8, 23, true);
  }
}
s32 fraction_of(Element e) { return e == Element::bf16 ? 7 : e == Element::e4m3 ? 3 : e == Element::e5m2 ? 2 : e == Element::f32 ? 23 : 10; }
double real(Element e, u32 bits) {
  switch (e) {
    case Element::f16: return from_half(static_cast<u16>(bits));
    case Element::bf16: return from_bf16(static_cast<u16>(bits));
    case Element::tf32: return std::bit_cast<float>(bits & 0xffffe000u);
    case Element::f32: return std::bit_cast<float>(bits);
    default: {
      const Parts p = split(e, bits);
      if (p.special) return e == Element::e5m2 && (bits & 3) == 0 ? (bits & 0x80 ? -INFINITY : INFINITY) : NAN;
      return std::ldexp(static_cast<double>(p.significand), p.exponent - fraction_of(e));
    }
  }
}

// sum * 2^exponent, cut to f32.
u32 cut(s64 sum, s32 exponent) {
  if (sum == 0) return 0;
  u64 magnitude = sum < 0 ? static_cast<u64>(-sum) : static_cast<u64>(sum);
  const u32 sign = sum < 0 ? 0x80000000u : 0;
  s32 top = 63 - __builtin_clzll(magnitude) + exponent;  // of the leading bit
  if (top > 127) return sign | 0x7f800000u;
  const s32 lowest = std::max(top, -126) - 23, shift = lowest - exponent;
  magnitude = shift >= 64 ? 0 : shift >= 0 ? magnitude >> shift : magnitude << -shift;
  if (top < -126) return sign | static_cast<u32>(magnitude);
  return sign | static_cast<u32>(top + 127) << 23 | (static_cast<u32>(magnitude) & 0x7fffff);
}
u32 to_output(Element d, s64 sum, s32 exponent) {
  if (d == Element::f32) return cut(sum, exponent);
  return round_half(std::ldexp(static_cast<double>(sum), exponent), Rounding::nearest);
}
u32 special_output(Element d, double value) {
  if (d == Element::f16) return value != value ? 0x7fffu : value > 0 ? 0x7c00u : 0xfc00u;
  return value != value ? 0x7fffffffu : value > 0 ? 0x7f800000u : 0xff800000u;
}

constexpr u32 widest = 32;  // outputs of a row at most

// One row of outputs from k products each. Arrays of b lie by row of b, so that outputs are computed side by side.
struct Row {
  s32 a[32], ea[32];
  s32 b[32][widest], eb[32][widest];
};
void sum_row(const Row& r, u32 k, u32 n, s32 scale, const s32* c, const s32* ec, s32 scale_c, s64* sum, s32* top) {
  s32 part[widest];
  for (u32 s = 0; s < n; ++s) top[s] = ec[s], part[s] = 0;
  for (u32 q = 0; q < k; ++q)
    for (u32 s = 0; s < n; ++s) top[s] = std::max(top[s], r.ea[q] + r.eb[q][s]);
  for (u32 q = 0; q < k; ++q)
    for (u32 s = 0; s < n; ++s) {
      const s32 shift = scale + r.ea[q] + r.eb[q][s] - top[s];
      const s32 left = std::clamp(shift, 0, 31), right = std::clamp(-shift, 0, 31);
      const s32 product = static_cast<s32>(static_cast<u32>(r.a[q] * r.b[q][s]) << left);
      part[s] += (product + ((product >> 31) & static_cast<s32>((1u << right) - 1))) >> right;  // towards zero
    }
  for (u32 s = 0; s < n; ++s) {
    const s32 shift = scale_c + ec[s] - top[s];
    const s64 addend = shift >= 0 ? s64{c[s]} << std::min(shift, 31) : shift > -40 ? s64{c[s]} / (s64{1} << -shift) : 0;
    sum[s] = part[s] + addend;
  }
}

// d = a * b + c where `columns` names the k's that take part.
void fused(const Product& p, Element in_a, Element in_b, Element in_c, Element out, const std::vector<u32>& columns, const u32* a, const u32* b,
           const u32* c, u32* d) {
  Row row;
  const u32 k = static_cast<u32>(columns.size());
  bool special_b[widest] = {};
  for (u32 s = 0; s < p.n; ++s)
    for (u32 q = 0; q < k; ++q) {
      const Parts x = split(in_b, b[s * p.k + columns[q]]);
      row.b[q][s] = x.significand, row.eb[q][s] = x.exponent;
      special_b[s] |= x.special;
    }
  const s32 scale = point - fraction_of(in_a) - fraction_of(in_b), scale_c = point - fraction_of(in_c);
  for (u32 r = 0; r < p.m; ++r) {
    bool special_a = false;
    for (u32 q = 0; q < k; ++q) {
      const Parts x = split(in_a, a[r * p.k + columns[q]]);
      row.a[q] = x.significand, row.ea[q] = x.exponent;
      special_a |= x.special;
    }
    s32 addend[widest], exponent[widest], top[widest];
    bool special_c[widest];
    s64 sum[widest];
    for (u32 s = 0; s < p.n; ++s) {
      const Parts x = split(in_c, c ? c[r * p.n + s] : 0);
      addend[s] = x.significand, exponent[s] = x.exponent, special_c[s] = x.special;
    }
    sum_row(row, k, p.n, scale, addend, exponent, scale_c, sum, top);
    for (u32 s = 0; s < p.n; ++s) {
      u32& to = d[r * p.n + s];
      if (!(special_a || special_b[s] || special_c[s])) {
        to = to_output(out, sum[s], top[s] - point);
        continue;
      }
      double value = c ? real(in_c, c[r * p.n + s]) : 0;
      for (u32 q = 0; q < k; ++q) value += real(in_a, a[r * p.k + columns[q]]) * real(in_b, b[s * p.k + columns[q]]);
      to = special_output(out, value);
    }
  }
}

u32 add_last(Element d, u32 sum, u32 c) {
  if (d == Element::f32) {
    const float r = std::bit_cast<float>(c) + std::bit_cast<float>(sum);
    return r == r ? std::bit_cast<u32>(r) : 0x7fffffffu;
  }
  return to_half(from_half(static_cast<u16>(c)) + from_half(static_cast<u16>(sum)));
}

// Of every four k's the first two make the first half.
void eight_bits(const Product& p, const u32* a, const u32* b, const u32* c, u32* d) {
  std::vector<u32> first, second;
  for (u32 q = 0; q < p.k; ++q) (q % 4 < 2 ? first : second).push_back(q);
  fused(p, p.a, p.b, p.d, p.d, first, a, b, nullptr, d);
  fused(p, p.a, p.b, p.d, p.d, second, a, b, d, d);
  for (u32 at = 0; at < p.m * p.n; ++at) d[at] = add_last(p.d, d[at], c[at]);
}

void chain(const Product& p, const u32* a, const u32* b, const u32* c, u32* d) {
  for (u32 r = 0; r < p.m; ++r)
    for (u32 s = 0; s < p.n; ++s) {
      float x[4], y[4];
      for (u32 q = 0; q < 4; ++q) x[q] = from_half(static_cast<u16>(a[r * p.k + q])), y[q] = from_half(static_cast<u16>(b[s * p.k + q]));
      const u32 addend = c[r * p.n + s];
      const float z = p.c == Element::f32 ? std::bit_cast<float>(addend) : from_half(static_cast<u16>(addend));
      float sum;
      if (p.d == Element::f16) sum = z + std::fma(x[1], y[1], x[0] * y[0]) + std::fma(x[3], y[3], x[2] * y[2]);
      else sum = z + std::fma(x[3], y[3], std::fma(x[2], y[2], std::fma(x[1], y[1], std::fma(x[0], y[0], 0.0f))));
      d[r * p.n + s] = p.d == Element::f16 ? to_half(sum) : sum == sum ? std::bit_cast<u32>(sum) : 0x7fffffffu;
    }
}

s32 whole(Element e, u32 bits) {
  switch (e) {
    case Element::s8: return static_cast<s8>(bits);
    case Element::u8: return static_cast<u8>(bits);
    case Element::s4: return static_cast<s32>(bits << 28) >> 28;
    default: return static_cast<s32>(bits & 15);
  }
}
void integers(const Product& p, const u32* a, const u32* b, const u32* c, u32* d) {
  for (u32 r = 0; r < p.m; ++r)
    for (u32 s = 0; s < p.n; ++s) {
      s64 sum = 0;
      if (p.a == Element::b1) {  // words of 32
        for (u32 q = 0; q < p.k / 32; ++q) {
          const u32 x = a[r * (p.k / 32) + q], y = b[s * (p.k / 32) + q];
          sum += __builtin_popcount(p.exclusive_or ? x ^ y : x & y);
        }
      } else {
        for (u32 q = 0; q < p.k; ++q) sum += whole(p.a, a[r * p.k + q]) * whole(p.b, b[s * p.k + q]);
      }
      sum += static_cast<s32>(c[r * p.n + s]);
      if (p.saturate) sum = std::clamp<s64>(sum, INT32_MIN, INT32_MAX);
      d[r * p.n + s] = static_cast<u32>(sum);
    }
}

}  // namespace

void multiply(const Product& p, const u32* a, const u32* b, const u32* c, u32* d) {
  if (p.d == Element::s32) return integers(p, a, b, c, d);
  if (p.scalar) return chain(p, a, b, c, d);
  if (bits_of(p.a) == 8) return eight_bits(p, a, b, c, d);
  std::vector<u32> all(p.k);
  for (u32 q = 0; q < p.k; ++q) all[q] = q;
  fused(p, p.a, p.b, p.c, p.d, all, a, b, c, d);
}

void multiply(const Product& p, const double* a, const double* b, double* c) {
  for (u32 r = 0; r < p.m; ++r)
    for (u32 s = 0; s < p.n; ++s) {
      double& sum = c[r * p.n + s];
      for (u32 q = 0; q < p.k; ++q) sum = std::fma(a[r * p.k + q], b[s * p.k + q], sum);
    }
}

}  // namespace cudanalyst::isa
