// Conversions between f16, bf16 and float or double; all rounding is single.
#pragma once
#include <bit>
#include <cmath>

#include "../exec/core.hpp"

namespace cudanalyst::isa {

inline float from_half(u16 h) { return static_cast<float>(std::bit_cast<_Float16>(h)); }
inline float from_bf16(u16 b) { return std::bit_cast<float>(u32{b} << 16); }

inline u16 to_half(float f) {
  const auto h = std::bit_cast<u16>(static_cast<_Float16>(f));
  return (h & 0x7fff) > 0x7c00 ? u16(0x7fff) : h;
}
inline u16 to_bf16(float f) {
  const u32 bits = std::bit_cast<u32>(f);
  if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fff;
  return static_cast<u16>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

enum class Rounding : u8 { nearest, zero, down, up, away };

// Rounds a double to `precision` bits of significand with the given exponent range; the result is exact in a double (or infinite).
double round_to(double x, int precision, int min_exponent, double largest, Rounding mode);
// Sum of two doubles rounded to odd, so that a later rounding to half the bits or less is right.
inline double sum_to_odd(double a, double b) {
  const double sum = a + b;
  if (!(std::fabs(sum) < 1e300)) return sum;
  const double bb = sum - a, error = (a - (sum - bb)) + (b - bb);
  u64 bits = std::bit_cast<u64>(sum);
  if (error != 0 && !(bits & 1)) bits += (error > 0) == (sum > 0) ? 1 : u64(-1);
  return std::bit_cast<double>(bits);
}
inline u16 round_half(double x, Rounding mode) {
  return std::bit_cast<u16>(static_cast<_Float16>(static_cast<float>(round_to(x, 11, -14, 65504.0, mode))));
}
inline u16 round_bf16(double x, Rounding mode) {
  if (x != x) return 0x7fff;
  return static_cast<u16>(std::bit_cast<u32>(static_cast<float>(round_to(x, 8, -126, 3.3895313892515355e38, mode))) >> 16);
}

}  // namespace cudanalyst::isa
