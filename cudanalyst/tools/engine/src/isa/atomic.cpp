// atom and red.
#include "../exec/access.hpp"
#include "half.hpp"
#include "lanes.hpp"

namespace cudanalyst::isa {

void memory_form(Decoder& d, const Operand& address);

namespace {

enum Operation : u8 { op_add, op_min, op_max, op_and, op_or, op_xor, op_exch, op_cas, op_inc, op_dec };

template <class T, int op>
T combine(T old, T b, T c) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    if constexpr (op == op_add) return T(U(old) + U(b));
    if constexpr (op == op_and) return old & b;
    if constexpr (op == op_or) return old | b;
    if constexpr (op == op_xor) return old ^ b;
    if constexpr (op == op_inc) return old >= b ? T(0) : T(old + 1);
    if constexpr (op == op_dec) return old == 0 || old > b ? b : T(old - 1);
  } else if constexpr (op == op_add) {
    const T sum = old + b;
    if constexpr (sizeof(T) == 4) return sum == sum ? sum : std::bit_cast<T>(0x7fffffffu);
    return sum;
  }
  if constexpr (op == op_min) return b < old ? b : old;
  if constexpr (op == op_max) return old < b ? b : old;
  if constexpr (op == op_exch) return b;
  if constexpr (op == op_cas) return old == b ? c : old;
  return old;
}

// Other OS threads may work on the same global memory.
template <class T, class F>
T update(u64 at, bool shared_with_threads, F f) {
  T* place = reinterpret_cast<T*>(at);
  if (!shared_with_threads) {
    const T old = *place;
    *place = f(old);
    return old;
  }
  using U = std::conditional_t<sizeof(T) == 8, u64, std::conditional_t<sizeof(T) == 4, u32, u16>>;
  U* bits = reinterpret_cast<U*>(at);
  U old = __atomic_load_n(bits, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(bits, &old, std::bit_cast<U>(f(std::bit_cast<T>(old))), true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {}
  return std::bit_cast<T>(old);
}

template <class T, int op>
void atomic(Warp& w, const Instr& i) {
  u64 at[32];
  lane_addresses(w, i, at);
  const u32 m = resolve(w, i, at);
  const bool threads = w.context->launch->parallel;
  const T *b = reg<T>(w, i.b), *c = reg<T>(w, i.c == none ? i.b : i.c);
  T* d = i.d == none ? nullptr : reg<T>(w, i.d);
  for (u32 rest = m; rest; rest &= rest - 1) {
    const u32 l = static_cast<u32>(__builtin_ctz(rest));
    const T old = update<T>(at[l], threads, [&](T before) { return combine<T, op>(before, b[l], c[l]); });
    if (d) d[l] = old;
  }
  w.spinning |= d != nullptr;
}

enum class Format { half, brain };
template <Format f, int op>
u16 combine_half(u16 old, u16 b) {
  const float x = f == Format::half ? from_half(old) : from_bf16(old), y = f == Format::half ? from_half(b) : from_bf16(b);
  if (op == op_add) return f == Format::half ? to_half(x + y) : to_bf16(x + y);
  if (x != x) return b;
  if (y != y) return old;
  return op == op_min ? (y < x ? b : old) : (x < y ? b : old);
}
template <Format f, int op, class Bits>
void atomic_half(Warp& w, const Instr& i) {
  u64 at[32];
  lane_addresses(w, i, at);
  const u32 m = resolve(w, i, at);
  const Bits* b = reg<Bits>(w, i.b);
  for (u32 rest = m; rest; rest &= rest - 1) {
    const u32 l = static_cast<u32>(__builtin_ctz(rest));
    const Bits old = update<Bits>(at[l], w.context->launch->parallel, [&](Bits before) {
      if constexpr (sizeof(Bits) == 2) return combine_half<f, op>(before, b[l]);
      else return u32{combine_half<f, op>(u16(before), u16(b[l]))} | u32{combine_half<f, op>(u16(before >> 16), u16(b[l] >> 16))} << 16;
    });
    if (i.d != none) reg<Bits>(w, i.d)[l] = old;
  }
}
// red/atom.v2/.v4.f32: the elements are added one by one.
void atomic_vector(Warp& w, const Instr& i) {
  u64 at[32];
  lane_addresses(w, i, at);
  const u32 m = resolve(w, i, at);
  for (u32 rest = m; rest; rest &= rest - 1) {
    const u32 l = static_cast<u32>(__builtin_ctz(rest));
    for (u32 k = 0; k < i.count; ++k) {
      const float b = reg<float>(w, i.v[k])[l];
      const float old = update<float>(at[l] + 4 * k, w.context->launch->parallel, [&](float before) { return combine<float, op_add>(before, b, b); });
      if (i.d != none) reg<float>(w, reinterpret_cast<const u32*>(i.more)[k])[l] = old;
    }
  }
}

template <int op>
Execute pick(Type t) {
  switch (t) {
    case Type::u32:
    case Type::b32: return atomic<u32, op>;
    case Type::s32: return atomic<s32, op>;
    case Type::u64:
    case Type::b64: return atomic<u64, op>;
    case Type::s64: return atomic<s64, op>;
    default: return nullptr;
  }
}
Execute pick(Type t, std::string_view op) {
  if (op == ".add") return t == Type::f32 ? atomic<float, op_add> : t == Type::f64 ? atomic<double, op_add> : pick<op_add>(t);
  if (op == ".min") return pick<op_min>(t);
  if (op == ".max") return pick<op_max>(t);
  if (op == ".and") return pick<op_and>(t);
  if (op == ".or") return pick<op_or>(t);
  if (op == ".xor") return pick<op_xor>(t);
  if (op == ".exch") return pick<op_exch>(t);
  if (op == ".cas") return t == Type::b16 ? atomic<u16, op_cas> : pick<op_cas>(t);
  if (op == ".inc") return t == Type::u32 ? atomic<u32, op_inc> : nullptr;
  if (op == ".dec") return t == Type::u32 ? atomic<u32, op_dec> : nullptr;
  return nullptr;
}
template <Format f, class Bits>
Execute pick_half(std::string_view op) {
  return op == ".add"   ? atomic_half<f, op_add, Bits>
         : op == ".min" ? atomic_half<f, op_min, Bits>
         : op == ".max" ? atomic_half<f, op_max, Bits>
                        : nullptr;
}

void atom(Decoder& d) {
  const bool returns = d.statement->op[0] == 'a';
  Instr& i = d.i;
  const Type t = d.type();
  size_t k = returns ? 1 : 0;
  memory_form(d, d.operand(k));
  i.strong = true;
  i.access = Access::atomic;
  i.bytes = i.width = static_cast<u8>(width(t));
  std::string_view op;
  for (const auto m : d.mods)
    for (const std::string_view name : {".add", ".min", ".max", ".and", ".or", ".xor", ".exch", ".cas", ".inc", ".dec"})
      if (m == name) op = name;
  if (d.has(".v2") || d.has(".v4")) {
    const Operand& v = d.operand(k + 1);
    if (v.kind != Operand::vector || returns || v.count != (d.has(".v2") ? 2u : 4u) || t != Type::f32 || op != ".add")
      Decoder::reject("this vector form");
    i.count = static_cast<u8>(v.count);
    for (u32 n = 0; n < v.count; ++n) i.v[n] = d.source(d.part(v, n), 4);
    return finish(d, atomic_vector, MixClass::atomic);
  }
  if (returns) {
    const Operand& target = d.operand(0);
    i.d = target.kind == Operand::sink ? none : d.target(0, width(t));
  }
  i.b = i.v[0] = d.source(k + 1, width(t));
  size_t used = k + 2;
  if (op == ".cas") i.c = d.source(used++, width(t));
  if (d.has(".L2::cache_hint")) ++used;
  d.expect_operands(used);
  const Execute fn = t == Type::f16      ? pick_half<Format::half, u16>(op)
                     : t == Type::f16x2  ? pick_half<Format::half, u32>(op)
                     : t == Type::bf16   ? pick_half<Format::brain, u16>(op)
                     : t == Type::bf16x2 ? pick_half<Format::brain, u32>(op)
                                         : pick(t, op);
  finish(d, fn, MixClass::atomic);
}

#define FORM "{.relaxed|.acquire|.release|.acq_rel}{.cta|.cluster|.gpu|.sys}{.global|.shared|.shared::cta|.shared::cluster}"
#define OPERATION "(.add|.min|.max|.and|.or|.xor|.exch|.cas|.inc|.dec)"
#define INTEGER "(.u32|.s32|.u64|.s64|.b32|.b64|.b16|.f32|.f64)"
constexpr Row rows[] = {
    {"atom" FORM OPERATION "{.L2::cache_hint}" INTEGER, atom},
    {"atom" FORM "(.add|.min|.max){.noftz}{.L2::cache_hint}(.f16|.f16x2|.bf16|.bf16x2)", atom},
    {"red" FORM OPERATION "{.L2::cache_hint}" INTEGER, atom},
    {"red" FORM "(.add|.min|.max){.noftz}{.L2::cache_hint}(.f16|.f16x2|.bf16|.bf16x2)", atom},
    // The order in which some headers write it.
    {"atom(.global|.shared)(.cta|.cluster|.gpu|.sys)" OPERATION INTEGER, atom},
    {"red(.global|.shared)(.cta|.cluster|.gpu|.sys)" OPERATION INTEGER, atom},
    {"atom" OPERATION "{.relaxed|.acquire|.release|.acq_rel}{.cta|.cluster|.gpu|.sys}{.global|.shared}" INTEGER, atom},
    {"red" OPERATION "{.relaxed|.acquire|.release|.acq_rel}{.cta|.cluster|.gpu|.sys}{.global|.shared}" INTEGER, atom},
    {"red{.relaxed}{.cta|.gpu|.sys}.global{.v2|.v4}.f32.add", atom},
    {"red{.relaxed}{.cta|.gpu|.sys}.global.add{.v2|.v4}.f32", atom},
};
}  // namespace

std::span<const Row> atomic_rows() { return rows; }

}  // namespace cudanalyst::isa
