// atom and red: scalars, 128 bits, and vectors, whose elements are updated one after the other.
#include <algorithm>
#include <mutex>

#include "../exec/access.hpp"
#include "half.hpp"
#include "lanes.hpp"

namespace cudanalyst::isa {

void memory_form(Decoder& d, const Operand& address);

namespace {

enum Operation : u8 { op_add, op_min, op_max, op_and, op_or, op_xor, op_exch, op_cas, op_inc, op_dec, op_none };
constexpr std::string_view names[] = {".add", ".min", ".max", ".and", ".or", ".xor", ".exch", ".cas", ".inc", ".dec"};

// Two and four bytes of a float format, told apart by type.
enum class Half : u16 {};
enum class Brain : u16 {};
enum class HalfPair : u32 {};
enum class BrainPair : u32 {};

template <int op>
u16 combine_half(u16 old, u16 b, bool brain) {
  const float x = brain ? from_bf16(old) : from_half(old), y = brain ? from_bf16(b) : from_half(b);
  if (op == op_add) return brain ? to_bf16(x + y) : to_half(x + y);
  if (x != x) return y != y ? u16(0x7fff) : b;
  if (y != y) return old;
  const bool first = x < y || (x == y && (op == op_min ? (old & 0x8000) != 0 : !(old & 0x8000)));
  return (op == op_min) == (x < y || (x == y && first)) ? old : (x == y ? (first ? old : b) : b);
}

inline float flush(float x) { return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x; }

template <class T, int op>
T combine(T old, T b, T c, [[maybe_unused]] bool global) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Brain>) {
    return T{combine_half<op>(u16(old), u16(b), std::is_same_v<T, Brain>)};
  } else if constexpr (std::is_same_v<T, HalfPair> || std::is_same_v<T, BrainPair>) {
    constexpr bool brain = std::is_same_v<T, BrainPair>;
    const u32 x = u32(old), y = u32(b);
    return T{u32{combine_half<op>(u16(x), u16(y), brain)} | u32{combine_half<op>(u16(x >> 16), u16(y >> 16), brain)} << 16};
  } else if constexpr (std::is_same_v<T, float>) {
    // The adders at the L2 flush denormals, those of shared memory do not.
    const float sum = global ? flush(flush(old) + flush(b)) : old + b;
    return sum == sum ? sum : std::bit_cast<float>(0x7fffffffu);
  } else if constexpr (std::is_same_v<T, double>) {
    const double sum = old + b;
    return sum == sum ? sum : std::bit_cast<double>(u64{0x7fffffffffffffff});
  } else {
    using U = std::make_unsigned_t<T>;
    if constexpr (op == op_add) return T(U(old) + U(b));
    if constexpr (op == op_and) return old & b;
    if constexpr (op == op_or) return old | b;
    if constexpr (op == op_xor) return old ^ b;
    if constexpr (op == op_inc) return old >= b ? T(0) : T(old + 1);
    if constexpr (op == op_dec) return old == 0 || old > b ? b : T(old - 1);
    if constexpr (op == op_min) return b < old ? b : old;
    if constexpr (op == op_max) return old < b ? b : old;
    if constexpr (op == op_exch) return b;
    if constexpr (op == op_cas) return old == b ? c : old;
    return old;
  }
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

struct Elements {  // registers of a vector's results
  u32 slots[8];
};

template <class T, int op>
void atomic(Warp& w, const Instr& i) {
  u64 at[32];
  lane_addresses(w, i, at);
  const u32 m = resolve(w, i, at);
  const Context& context = *w.context;
  const bool threads = context.launch->parallel;
  const memory::Layout& layout = memory::layout();
  const auto in_global = [&](u64 address) { return std::is_same_v<T, float> && address - (layout.base + layout.delta) < layout.bytes; };
  if (i.count == 1) {
    const T *b = reg<T>(w, i.b), *c = reg<T>(w, i.c == none ? i.b : i.c);
    T* d = i.d == none ? nullptr : reg<T>(w, i.d);
    for (u32 rest = m; rest; rest &= rest - 1) {
      const u32 l = static_cast<u32>(__builtin_ctz(rest));
      const bool global = in_global(at[l]);
      const T old = update<T>(at[l], threads, [&](T before) { return combine<T, op>(before, b[l], c[l], global); });
      if (d) d[l] = old;
    }
  } else {
    const Elements* to = static_cast<const Elements*>(i.more);
    for (u32 rest = m; rest; rest &= rest - 1) {
      const u32 l = static_cast<u32>(__builtin_ctz(rest));
      T old[8];
      for (u32 k = 0; k < i.count; ++k) {
        const T b = reg<T>(w, i.v[k])[l];
        old[k] = update<T>(at[l] + sizeof(T) * k, threads, [&](T before) { return combine<T, op>(before, b, b, true); });
      }
      for (u32 k = 0; to && k < i.count; ++k) reg<T>(w, to->slots[k])[l] = old[k];
    }
  }
  w.spinning |= i.d != none;
}

std::mutex wide;  // 128 bits at a time are rare
void atomic_wide(Warp& w, const Instr& i) {
  struct Wide {
    u64 low, high;
    bool operator==(const Wide&) const = default;
  };
  u64 at[32];
  lane_addresses(w, i, at);
  const u32 m = resolve(w, i, at);
  const Wide *b = reg<Wide>(w, i.b), *c = i.c == none ? nullptr : reg<Wide>(w, i.c);
  const std::lock_guard lock(wide);
  for (u32 rest = m; rest; rest &= rest - 1) {
    const u32 l = static_cast<u32>(__builtin_ctz(rest));
    Wide& place = *reinterpret_cast<Wide*>(at[l]);
    const Wide old = place;
    if (!c) place = b[l];
    else if (old == b[l]) place = c[l];
    if (i.d != none) reg<Wide>(w, i.d)[l] = old;
  }
  w.spinning |= i.d != none;
}

template <int op>
Execute integer(Type t) {
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
template <int op>
Execute halves(Type t) {
  switch (t) {
    case Type::f16: return atomic<Half, op>;
    case Type::bf16: return atomic<Brain, op>;
    case Type::f16x2: return atomic<HalfPair, op>;
    case Type::bf16x2: return atomic<BrainPair, op>;
    default: return nullptr;
  }
}
bool is_bits(Type t) { return t == Type::b32 || t == Type::b64; }
bool is_half(Type t) { return t == Type::f16 || t == Type::bf16 || t == Type::f16x2 || t == Type::bf16x2; }

Execute pick(Type t, Operation op) {
  const bool integers = t == Type::u32 || t == Type::s32 || t == Type::u64 || t == Type::s64;
  switch (op) {
    case op_add:
      return t == Type::f32   ? atomic<float, op_add>
             : t == Type::f64 ? atomic<double, op_add>
             : is_half(t)     ? halves<op_add>(t)
             : integers       ? integer<op_add>(t)
                              : nullptr;
    case op_min: return is_half(t) ? halves<op_min>(t) : integers ? integer<op_min>(t) : nullptr;
    case op_max: return is_half(t) ? halves<op_max>(t) : integers ? integer<op_max>(t) : nullptr;
    case op_and: return is_bits(t) ? integer<op_and>(t) : nullptr;
    case op_or: return is_bits(t) ? integer<op_or>(t) : nullptr;
    case op_xor: return is_bits(t) ? integer<op_xor>(t) : nullptr;
    case op_exch: return t == Type::b128 ? atomic_wide : is_bits(t) ? integer<op_exch>(t) : nullptr;
    case op_cas: return t == Type::b128 ? atomic_wide : t == Type::b16 ? atomic<u16, op_cas> : is_bits(t) ? integer<op_cas>(t) : nullptr;
    case op_inc: return t == Type::u32 ? atomic<u32, op_inc> : nullptr;
    case op_dec: return t == Type::u32 ? atomic<u32, op_dec> : nullptr;
    default: return nullptr;
  }
}

// v2 and v4 of 32 bits, v2 to v8 of 16.
void vector(Decoder& d, Operation op, bool returns, u32 length) {
  const Type t = d.type();
  const unsigned n = width(t);
  const Operand& source = d.operand(returns ? 2 : 1);
  const bool fits =
      (t == Type::f32 && op == op_add && length <= 4) || (is_half(t) && (op == op_add || op == op_min || op == op_max) && length * n <= 16);
  if (!fits || source.kind != Operand::vector || source.count != length) Decoder::reject("this vector form");
  if (d.i.space == AccessSpace::shared) Decoder::reject("a vector in shared memory");
  d.expect_operands((returns ? 3u : 2u) + (d.has(".L2::cache_hint") ? 1 : 0));
  d.i.count = static_cast<u8>(length);
  for (u32 k = 0; k < length; ++k) d.i.v[k] = d.source(d.part(source, k), n);
  if (returns) {
    const Operand& target = d.operand(0);
    if (target.kind != Operand::vector || target.count != length) Decoder::reject("this vector form");
    auto* to = new Elements{};
    d.program.owned.emplace_back(to, [](void* p) { delete static_cast<Elements*>(p); });
    for (u32 k = 0; k < length; ++k) to->slots[k] = d.target(d.part(target, k), n);
    d.i.d = to->slots[0];
    d.i.more = to;
  }
  finish(d, pick(t, op), MixClass::atomic);
}

void atom(Decoder& d) {
  const bool returns = d.statement->op[0] == 'a';
  Instr& i = d.i;
  const Type t = d.type();
  const size_t k = returns ? 1 : 0;
  memory_form(d, d.operand(k));
  i.strong = true;
  i.access = Access::atomic;
  i.bytes = i.width = static_cast<u8>(width(t));
  u8 op = 0;
  while (op < op_none && !d.has(names[op])) ++op;
  const u32 length = d.has(".v2") ? 2 : d.has(".v4") ? 4 : d.has(".v8") ? 8 : 1;
  if (length > 1) return vector(d, static_cast<Operation>(op), returns, length);
  if (!returns && (op == op_exch || op == op_cas)) Decoder::reject("an operation without result");
  if (returns && d.operand(0).kind != Operand::sink) i.d = d.target(0, width(t));
  i.b = i.v[0] = d.source(k + 1, width(t));
  size_t used = k + 2;
  if (op == op_cas) i.c = d.source(used++, width(t));
  if (d.has(".L2::cache_hint")) ++used;
  d.expect_operands(used);
  finish(d, pick(t, static_cast<Operation>(op)), MixClass::atomic);
}

// The assembler takes modifiers in any order (table.cpp), and headers use several.
#define FORM "{.relaxed|.acquire|.release|.acq_rel}{.cta|.cluster|.gpu|.sys}{.global|.shared|.shared::cta|.shared::cluster}"
#define OPERATION "(.add|.min|.max|.and|.or|.xor|.exch|.cas|.inc|.dec)"
#define TYPES "(.u32|.s32|.u64|.s64|.b16|.b32|.b64|.b128|.f32|.f64)"
#define HALVES "(.f16|.f16x2|.bf16|.bf16x2)"
constexpr Row rows[] = {
    {"atom" FORM OPERATION "{.L2::cache_hint}" TYPES, atom},
    {"atom" FORM "(.add|.min|.max).noftz{.L2::cache_hint}{.v2|.v4|.v8}" HALVES, atom},
    {"atom" FORM ".add{.L2::cache_hint}(.v2|.v4).f32", atom},
    {"red" FORM OPERATION "{.L2::cache_hint}" TYPES, atom},
    {"red" FORM "(.add|.min|.max).noftz{.L2::cache_hint}{.v2|.v4|.v8}" HALVES, atom},
    {"red" FORM ".add{.L2::cache_hint}(.v2|.v4).f32", atom},
};
}  // namespace

std::span<const Row> atomic_rows() { return rows; }

}  // namespace cudanalyst::isa
