// cvt to and from the eight-bit floats, and cvt.pack.
#include "half.hpp"
#include "lanes.hpp"

namespace cudanalyst::isa {
namespace {

struct Format {
  int mantissa, bias, smallest_exponent;
  double largest;
  u8 largest_bits;
};
constexpr Format e4m3{3, 7, -6, 448.0, 0x7e}, e5m2{2, 15, -14, 57344.0, 0x7b};

// Nearest, saturating to the largest finite value. option bit 0: e5m2, bit 1: .relu.
u8 to_quarter(double x, u8 option) {
  const Format& f = option & 1 ? e5m2 : e4m3;
  if (x != x) return 0x7f;
  if (option & 2 && !(x > 0)) return 0;
  const u8 sign = std::signbit(x) ? 0x80 : 0;
  const double magnitude = std::fabs(round_to(x, f.mantissa + 1, f.smallest_exponent, f.largest, Rounding::nearest));
  if (magnitude > f.largest) return sign | f.largest_bits;
  if (magnitude == 0) return sign;
  int exponent;
  std::frexp(magnitude, &exponent);
  exponent = std::max(exponent - 1, f.smallest_exponent);
  const int units = static_cast<int>(std::ldexp(magnitude, f.mantissa - exponent));  // with the leading one, where there is one
  const int biased = units >> f.mantissa ? exponent + f.bias : 0;
  return static_cast<u8>(sign | biased << f.mantissa | (units & ((1 << f.mantissa) - 1)));
}
u16 from_quarter(u8 q, u8 option) {
  u16 h;
  if (option & 1) {
    h = static_cast<u16>(q << 8);
    if ((h & 0x7fff) > 0x7c00) h = 0x7fff;
  } else if ((q & 0x7f) == 0x7f) {
    h = 0x7fff;
  } else {
    const int exponent = q >> 3 & 15, mantissa = q & 7;
    const double magnitude = exponent ? std::ldexp(8 + mantissa, exponent - 10) : std::ldexp(mantissa, -9);
    h = static_cast<u16>(to_half(static_cast<float>(magnitude)) | (q & 0x80) << 8);
  }
  if (option & 2 && h != 0x7fff && h & 0x8000) h = 0;
  return h;
}

void floats_to_quarters(Warp& w, const Instr& i) {
  const float *a = reg<float>(w, i.a), *b = reg<float>(w, i.b);
  each_slow<u16>(w, i.d, [&](int l) { return u16(to_quarter(double{a[l]}, i.option) << 8 | to_quarter(double{b[l]}, i.option)); });
}
void halves_to_quarters(Warp& w, const Instr& i) {
  const u32* a = reg<u32>(w, i.a);
  each_slow<u16>(w, i.d, [&](int l) {
    return u16(to_quarter(double{from_half(u16(a[l] >> 16))}, i.option) << 8 | to_quarter(double{from_half(u16(a[l]))}, i.option));
  });
}
void quarters_to_halves(Warp& w, const Instr& i) {
  const u16* a = reg<u16>(w, i.a);
  each_slow<u32>(w, i.d, [&](int l) { return u32{from_quarter(u8(a[l] >> 8), i.option)} << 16 | from_quarter(u8(a[l]), i.option); });
}
void quarters(Decoder& d) {
  d.i.option = static_cast<u8>((d.has(".e5m2x2") ? 1 : 0) | (d.has(".relu") ? 2 : 0));
  const Type t = d.type();  // of what is no quarter
  if (t == Type::f32) {
    d.expect_operands(3);
    d.i.d = d.target(0, 2);
    d.i.a = d.source(1, 4);
    d.i.b = d.source(2, 4);
    return finish(d, floats_to_quarters, MixClass::conversion);
  }
  d.expect_operands(2);
  const bool widens = d.mods.back() != ".f16x2";
  d.i.d = d.target(0, widens ? 4 : 2);
  d.i.a = d.source(1, widens ? 2 : 4);
  finish(d, widens ? quarters_to_halves : halves_to_quarters, MixClass::conversion);
}

// option: bits of an element; option2: it is signed.
void pack_run(Warp& w, const Instr& i) {
  const s32 *a = reg<s32>(w, i.a), *b = reg<s32>(w, i.b);
  const u32* c = i.c == none ? nullptr : reg<u32>(w, i.c);
  const u32 bits = i.option;
  const s64 low = i.option2 ? -(s64{1} << (bits - 1)) : 0, high = (s64{1} << (i.option2 ? bits - 1 : bits)) - 1;
  const u32 mask = (u32{1} << bits) - 1;
  each_slow<u32>(w, i.d, [&](int l) {
    const u32 x = static_cast<u32>(std::min(std::max(s64{a[l]}, low), high)) & mask,
              y = static_cast<u32>(std::min(std::max(s64{b[l]}, low), high)) & mask;
    return (c ? c[l] << (2 * bits) : 0) | x << bits | y;
  });
}
void pack(Decoder& d) {
  const std::string_view to = d.mods[2];
  const bool three = d.mods.size() == 5;
  sources(d, three ? 3 : 2, 4);
  d.i.option = to.ends_with("16") ? 16 : static_cast<u8>(to.back() - '0');
  d.i.option2 = to[1] == 's';
  finish(d, pack_run, MixClass::conversion);
}

constexpr Row rows[] = {
    {"cvt.rn.satfinite{.relu}(.e4m3x2|.e5m2x2)(.f32|.f16x2)", quarters},
    {"cvt.rn.relu.satfinite(.e4m3x2|.e5m2x2)(.f32|.f16x2)", quarters},
    {"cvt.rn{.relu}.f16x2(.e4m3x2|.e5m2x2)", quarters},
    {"cvt.pack.sat(.u16|.s16).s32", pack},
    {"cvt.pack.sat(.u8|.s8|.u4|.s4|.u2|.s2).s32.b32", pack},
};
}  // namespace

std::span<const Row> narrow_rows() { return rows; }

}  // namespace cudanalyst::isa
