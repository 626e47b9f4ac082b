// mov, and packing of vectors.
#include "lanes.hpp"

namespace cudanalyst::isa {
namespace {

using uint128 = unsigned __int128;

// Slots are aligned for 32 lanes of 16 bytes, but not for vector code of this type.
template <class F>
void each_wide(Warp& w, u32 slot, F f) {
  uint128* d = reg<uint128>(w, slot);
  for (u32 rest = w.mask; rest; rest &= rest - 1) {
    const int l = __builtin_ctz(rest);
    d[l] = f(l);
  }
}

template <class T>
void copy(Warp& w, const Instr& i) {
  unary<T, T, [](T a) { return a; }>(w, i);
}

void copy_wide(Warp& w, const Instr& i) {
  const uint128* a = reg<uint128>(w, i.a);
  each_wide(w, i.d, [&](int l) { return a[l]; });
}

template <class Wide, class Narrow>
void pack(Warp& w, const Instr& i) {
  constexpr int n = sizeof(Wide) / sizeof(Narrow);
  const auto join = [&](int l) {
    Wide result = 0;
    for (int k = 0; k < n; ++k) result |= static_cast<Wide>(reg<Narrow>(w, i.v[k])[l]) << (8 * sizeof(Narrow) * static_cast<unsigned>(k));
    return result;
  };
  if constexpr (sizeof(Wide) == 16) each_wide(w, i.d, join);
  else each<Wide>(w, i.d, join);
}
template <class Wide, class Narrow>
void unpack(Warp& w, const Instr& i) {
  constexpr unsigned n = sizeof(Wide) / sizeof(Narrow);
  Wide copy[32];
  std::memcpy(copy, reg<Wide>(w, i.a), sizeof copy);
  for (unsigned k = 0; k < n; ++k) each<Narrow>(w, i.v[k], [&](int l) { return static_cast<Narrow>(copy[l] >> (8 * sizeof(Narrow) * k)); });
}
void local_address(Warp& w, const Instr& i) {
  const u64 at = w.frame->local + static_cast<u64>(i.offset) + (i.option ? w.context->local_window : 0);
  if (i.width == 4) each<u32>(w, i.d, [&](int) { return static_cast<u32>(at); });
  else each<u64>(w, i.d, [&](int) { return at; });
}
void parameter_address(Warp& w, const Instr& i) {
  const u64 at = reinterpret_cast<u64>(w.context->launch->parameters) - w.context->delta + static_cast<u64>(i.offset);
  each<u64>(w, i.d, [&](int) { return at; });
}
void clock(Warp& w, const Instr& i) {
  const u64 now = w.block->executed + w.executed + ++w.context->clock_now;
  const u64 value = i.option == 1 ? (now * 8 / 1000 + 1) * 1000 : now;  // nobody meets the timer at zero
  if (i.width == 4) each<u32>(w, i.d, [&](int) { return static_cast<u32>(i.option == 2 ? value >> 32 : value); });
  else each<u64>(w, i.d, [&](int) { return value; });
}

void vector_move(Decoder& d) {
  const unsigned n = width(d.type());
  const bool from = d.operand(1).kind == Operand::vector;
  const Operand& v = d.operand(from ? 1 : 0);
  if (v.count < 2 || v.count > 8 || n % v.count) Decoder::reject("a vector of this length");
  const unsigned part = n / v.count;
  for (u32 k = 0; k < v.count; ++k) d.i.v[k] = from ? d.source(d.part(v, k), part) : d.target(d.part(v, k), part);
  if (from) d.i.d = d.target(0, n);
  else d.i.a = d.source(1, n);
  Execute fn = nullptr;
  if (n == 8 && part == 4) fn = from ? pack<u64, u32> : unpack<u64, u32>;
  else if (n == 8 && part == 2) fn = from ? pack<u64, u16> : unpack<u64, u16>;
  else if (n == 4 && part == 2) fn = from ? pack<u32, u16> : unpack<u32, u16>;
  else if (n == 8 && part == 1) fn = from ? pack<u64, u8> : unpack<u64, u8>;
  else if (n == 4 && part == 1) fn = from ? pack<u32, u8> : unpack<u32, u8>;
  else if (n == 2 && part == 1) fn = from ? pack<u16, u8> : unpack<u16, u8>;
  else if (n == 16 && part == 8) fn = from ? pack<uint128, u64> : unpack<uint128, u64>;
  else if (n == 16 && part == 4) fn = from ? pack<uint128, u32> : unpack<uint128, u32>;
  finish(d, fn, MixClass::other);
}

void mov(Decoder& d) {
  d.expect_operands(2);
  const Type t = d.type();
  const unsigned n = width(t);
  const Operand& source = d.operand(1);
  if (source.kind == Operand::vector || d.operand(0).kind == Operand::vector) return vector_move(d);
  if (t == Type::pred) {
    bool negated = false;
    d.i.d = d.target(0, 1);
    d.i.a = d.predicate(source, negated);
    if (negated) Decoder::reject("a negated operand");
    return finish(d, copy<u8>, MixClass::predicate);
  }
  d.i.d = d.target(0, n);
  d.i.width = static_cast<u8>(n);
  if (source.kind == Operand::variable && (source.base->space == Space::local || source.base->space == Space::param)) {
    d.i.offset = static_cast<s64>(source.base->address) + source.value;
    if (source.base->space == Space::param && d.is_entry && n == 8)
      for (const auto& p : d.function.parameters)
        if (&p == source.base) return finish(d, parameter_address, MixClass::other);
    return finish(d, local_address, MixClass::other);
  }
  if (source.kind == Operand::name && (source.text.substr(0, 6) == "%clock" || source.text == "%globaltimer" || source.text == "%globaltimer_lo" ||
                                       source.text == "%globaltimer_hi")) {
    d.i.option = source.text.substr(0, 2) == "%g" ? 1 : source.text == "%clock_hi" ? 2 : 0;
    if (source.text == "%globaltimer_hi") Decoder::reject("the upper half of the timer");
    return finish(d, clock, MixClass::other);
  }
  d.i.a = d.source(1, n);
  finish(d, n == 1 ? copy<u8> : n == 2 ? copy<u16> : n == 4 ? copy<u32> : n == 8 ? copy<u64> : copy_wide, MixClass::other);
}

constexpr Row rows[] = {
    {"mov(.pred|.b8|.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64|.f16|.f16x2|.bf16|.bf16x2|.b128)", mov},
};
}  // namespace

std::span<const Row> move_rows() { return rows; }

}  // namespace cudanalyst::isa
