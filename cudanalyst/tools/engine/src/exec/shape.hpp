// The shape of an address register: what its 32 values have in common, taken once for all accesses that add an offset to it.
#pragma once
#include <array>
#include <bit>

#include "core.hpp"

namespace cudanalyst {

using Eight = u32 __attribute__((vector_size(32), aligned(4), may_alias));
enum class Pattern : u8 { scattered, same, row };  // of eight lanes: anything, one word, eight words in a row

inline bool all_zero(Eight v) {
#ifdef __AVX__
  using Long = long long __attribute__((vector_size(32)));
  return __builtin_ia32_ptestz256(reinterpret_cast<Long>(v), reinterpret_cast<Long>(v));
#else
  const auto part = std::bit_cast<std::array<u64, 4> >(v);
  return (part[0] | part[1] | part[2] | part[3]) == 0;
#endif
}
inline Eight load_eight(const u32* from) {
  Eight v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
inline void store_eight(u32* to, Eight v) { std::memcpy(to, &v, sizeof v); }

// Of the addresses of words.
inline Pattern pattern_of(Eight address) {
  if (all_zero(address ^ (Eight{0, 4, 8, 12, 16, 20, 24, 28} + address[0]))) return Pattern::row;
  return all_zero(address ^ address[0]) ? Pattern::same : Pattern::scattered;
}

// Words of 32 lanes, of which each eight are at one place or side by side.
struct Eights {
  u64 address[4];  // of the first lane of each
  Pattern part[4];

  void expand(u64* to) const {
    for (u64 l = 0; l < 32; ++l) to[l] = address[l / 8] + (part[l / 8] == Pattern::row ? l % 8 * 4 : 0);
  }
};

struct Shape {
  bool valid;      // all lanes were there
  bool scattered;  // some eight are neither at one place nor in a row
  Pattern all;     // of every eight lanes alike, else scattered
  Pattern part[4];
  u32 low, high, bits;
};
static_assert(sizeof(Shape) <= 64);

inline void take_shape(const u32* address, Shape& s) {
  u32 low = address[0], high = address[0], bits = 0;
  for (int l = 0; l < 32; ++l) {
    low = address[l] < low ? address[l] : low;
    high = address[l] > high ? address[l] : high;
    bits |= address[l];
  }
  s.low = low;
  s.high = high;
  s.bits = bits;
  for (int g = 0; g < 4; ++g) s.part[g] = pattern_of(load_eight(address + 8 * g));
  s.all = s.part[0] == s.part[1] && s.part[0] == s.part[2] && s.part[0] == s.part[3] ? s.part[0] : Pattern::scattered;
  s.scattered =
      s.part[0] == Pattern::scattered || s.part[1] == Pattern::scattered || s.part[2] == Pattern::scattered || s.part[3] == Pattern::scattered;
  s.valid = true;
}

}  // namespace cudanalyst
