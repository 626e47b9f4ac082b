// set, setp, selp, slct.
#include "half.hpp"
#include "lanes.hpp"

namespace cudanalyst::isa {
namespace {

enum Comparison : u8 { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };

template <int c>
constexpr auto compare = [](auto a, auto b) {
  switch (c) {
    case eq: return u8(a == b);
    case ne: return u8((a < b) | (a > b));
    case lt: return u8(a < b);
    case le: return u8(a <= b);
    case gt: return u8(a > b);
    case ge: return u8(a >= b);
    case equ: return u8(!((a < b) | (a > b)));
    case neu: return u8(a != b);
    case ltu: return u8(!(a >= b));
    case leu: return u8(!(a > b));
    case gtu: return u8(!(a <= b));
    case geu: return u8(!(a < b));
    case num: return u8((a == a) & (b == b));
    default: return u8((a != a) | (b != b));
  }
};

struct NamedComparison {
  std::string_view name;
  Comparison plain;
};
constexpr NamedComparison names[] = {{".eq", eq},   {".ne", ne},   {".lt", lt},   {".le", le},   {".gt", gt},   {".ge", ge},
                                     {".lo", lt},   {".ls", le},   {".hi", gt},   {".hs", ge},   {".equ", equ}, {".neu", neu},
                                     {".ltu", ltu}, {".leu", leu}, {".gtu", gtu}, {".geu", geu}, {".num", num}, {".nan", nan}};

// Writes 0 or 1 bytes for both halves of packed types too: d is the slot of the result, a and b the operands.
template <class T>
Execute integer_compare(Comparison c) {
  switch (c) {
    case eq: return binary<u8, T, T, compare<eq>>;
    case ne: return binary<u8, T, T, compare<neu>>;
    case lt: return binary<u8, T, T, compare<lt>>;
    case le: return binary<u8, T, T, compare<le>>;
    case gt: return binary<u8, T, T, compare<gt>>;
    case ge: return binary<u8, T, T, compare<ge>>;
    default: return nullptr;
  }
}
template <class T, size_t... n>
Execute float_compare_from(Comparison c, std::index_sequence<n...>) {
  constexpr Execute all[] = {binary<u8, T, T, compare<static_cast<int>(n)>>...};
  return all[c];
}
template <class T>
Execute float_compare(Comparison c) {
  return float_compare_from<T>(c, std::make_index_sequence<14>());
}

template <class T>
u8 compare_by_name(u8 c, T a, T b) {
  switch (c) {
    case eq: return compare<eq>(a, b);
    case ne: return compare<ne>(a, b);
    case lt: return compare<lt>(a, b);
    case le: return compare<le>(a, b);
    case gt: return compare<gt>(a, b);
    case ge: return compare<ge>(a, b);
    case equ: return compare<equ>(a, b);
    case neu: return compare<neu>(a, b);
    case ltu: return compare<ltu>(a, b);
    case leu: return compare<leu>(a, b);
    case gtu: return compare<gtu>(a, b);
    case geu: return compare<geu>(a, b);
    case num: return compare<num>(a, b);
    default: return compare<nan>(a, b);
  }
}
// option2: the comparison; option: subnormal operands are zero.
template <bool brain, int shift, class Bits>
void half_compare(Warp& w, const Instr& i) {
  const Bits *a = reg<Bits>(w, i.a), *b = reg<Bits>(w, i.b);
  const auto flushed = [&](u16 h) { return i.option && (h & 0x7fff) < 0x0400 ? u16(h & 0x8000) : h; };
  each_slow<u8>(w, i.d, [&](int l) {
    const u16 x = flushed(u16(a[l] >> shift)), y = flushed(u16(b[l] >> shift));
    return brain ? compare_by_name(i.option2, from_bf16(x), from_bf16(y)) : compare_by_name(i.option2, from_half(x), from_half(y));
  });
}
Execute half_comparison(Decoder& d, Type t, Comparison c, bool second) {
  d.i.option2 = c;
  d.i.option = d.has(".ftz");
  switch (t) {
    case Type::f16: return half_compare<false, 0, u16>;
    case Type::bf16: return half_compare<true, 0, u16>;
    case Type::f16x2: return second ? half_compare<false, 16, u32> : half_compare<false, 0, u32>;
    default: return second ? half_compare<true, 16, u32> : half_compare<true, 0, u32>;
  }
}

Execute comparison(Type t, Comparison c) {
  switch (t) {
    case Type::s16: return integer_compare<s16>(c);
    case Type::u16:
    case Type::b16: return integer_compare<u16>(c);
    case Type::s32: return integer_compare<s32>(c);
    case Type::u32:
    case Type::b32: return integer_compare<u32>(c);
    case Type::s64: return integer_compare<s64>(c);
    case Type::u64:
    case Type::b64: return integer_compare<u64>(c);
    case Type::f32: return float_compare<float>(c);
    case Type::f64: return float_compare<double>(c);
    default: return nullptr;
  }
}

Comparison comparison_of(const Decoder& d) {
  for (const auto& n : names)
    if (d.has(n.name)) return n.plain;
  Decoder::reject("an unknown comparison");
}

struct Setp {
  const Instr *first, *second;  // comparisons into scratch slots
  u32 raw_first, raw_second;
  u32 p, q, with;
  u8 combine;  // 0 none, 1 and, 2 or, 3 xor
  bool negate_with, complement;
};

void setp_run(Warp& w, const Instr& i) {
  const Setp& k = *static_cast<const Setp*>(i.more);
  k.first->fn(w, *k.first);
  if (k.second) k.second->fn(w, *k.second);
  const u8 *raw = reg<u8>(w, k.raw_first), *other = reg<u8>(w, k.raw_second), *with = k.combine ? reg<u8>(w, k.with) : nullptr;
  u8 p[32], q[32];
  for (int l = 0; l < 32; ++l) {
    const u8 c = with ? u8(with[l] ^ u8(k.negate_with)) : u8(0);
    const u8 x = raw[l], y = k.second ? other[l] : u8(raw[l] ^ 1);
    p[l] = k.combine == 0 ? x : k.combine == 1 ? x & c : k.combine == 2 ? x | c : x ^ c;
    q[l] = k.combine == 0 ? y : k.combine == 1 ? y & c : k.combine == 2 ? y | c : y ^ c;
  }
  if (k.p != none) each<u8>(w, k.p, [&](int l) { return p[l]; });
  if (k.q != none) each<u8>(w, k.q, [&](int l) { return q[l]; });
}

void setp(Decoder& d) {
  const Type t = d.type();
  const bool half = t == Type::f16 || t == Type::bf16 || t == Type::f16x2 || t == Type::bf16x2, packed = t == Type::f16x2 || t == Type::bf16x2;
  const u8 combine = d.has(".and") ? 1 : d.has(".or") ? 2 : d.has(".xor") ? 3 : 0;
  d.expect_operands(combine ? 4 : 3);
  const Comparison c = comparison_of(d);
  const Operand& target = d.operand(0);
  d.i.a = d.source(1, width(t));
  d.i.b = d.source(2, width(t));
  const bool pair = target.kind == Operand::pair;
  if (packed && !pair) Decoder::reject("one destination for a packed comparison");
  const MixClass mix = MixClass::predicate;
  if (!pair && !combine) {
    d.i.d = d.target(0, 1);
    finish(d, half ? half_comparison(d, t, c, false) : comparison(t, c), mix);
    if (d.has(".ftz") && !half) wrap_float(d, 2, false);
    return;
  }
  auto* k = new Setp{};
  d.program.owned.emplace_back(k, [](void* p) { delete static_cast<Setp*>(p); });
  k->p = pair ? d.target(d.part(target, 0), 1) : d.target(0, 1);
  k->q = pair ? d.target(d.part(target, 1), 1) : none;
  k->combine = combine;
  if (combine) k->with = d.predicate(d.operand(3), k->negate_with);
  k->raw_first = k->raw_second = d.i.d = d.scratch(1);
  const Instr plain = d.i;
  finish(d, half ? half_comparison(d, t, c, false) : comparison(t, c), mix);
  if (d.has(".ftz") && !half) wrap_float(d, 2, false);
  k->first = d.keep(d.i);
  k->second = nullptr;
  if (packed) {
    d.i = plain;
    k->raw_second = d.i.d = d.scratch(1);
    finish(d, half_comparison(d, t, c, true), mix);
    k->second = d.keep(d.i);
  }
  const s32 guard = d.i.predicate;
  const bool negated = d.i.negated;
  d.i = Instr{};
  d.i.predicate = guard;
  d.i.negated = negated;
  d.i.more = k;
  finish(d, setp_run, mix);
}

// One element of the destination where the comparison, combined with c, is true: 1.0 of its format, or all ones.
template <class T>
void set_run(Warp& w, const Instr& i) {
  const Setp& k = *static_cast<const Setp*>(i.more);
  k.first->fn(w, *k.first);
  if (k.second) k.second->fn(w, *k.second);
  const u8 *low = reg<u8>(w, k.raw_first), *high = k.second ? reg<u8>(w, k.raw_second) : nullptr, *with = k.combine ? reg<u8>(w, k.with) : nullptr;
  const auto combined = [&](u8 raw, int l) {
    if (!with) return raw;
    const u8 c = u8(with[l] ^ u8(k.negate_with));
    return k.combine == 1 ? u8(raw & c) : k.combine == 2 ? u8(raw | c) : u8(raw ^ c);
  };
  each<T>(w, i.d, [&](int l) {
    const u32 first = combined(low[l], l) ? k.p : 0u;
    return T(high ? first | (combined(high[l], l) ? k.p << 16 : 0u) : first);
  });
}

void set(Decoder& d) {
  const u8 combine = d.has(".and") ? 1 : d.has(".or") ? 2 : d.has(".xor") ? 3 : 0;
  d.expect_operands(combine ? 4 : 3);
  const Type to = d.type(0), t = d.type(1);
  const bool half = t == Type::f16 || t == Type::bf16 || t == Type::f16x2 || t == Type::bf16x2, packed = t == Type::f16x2 || t == Type::bf16x2;
  if (!packed && (to == Type::f16x2 || to == Type::bf16x2)) Decoder::reject("a packed result of a comparison that is not");
  if (packed && width(to) != 4) Decoder::reject("a result too narrow for a packed comparison");
  const Comparison c = comparison_of(d);
  auto* k = new Setp{};
  d.program.owned.emplace_back(k, [](void* p) { delete static_cast<Setp*>(p); });
  d.i.a = d.source(1, width(t));
  d.i.b = d.source(2, width(t));
  k->combine = combine;
  if (combine) k->with = d.predicate(d.operand(3), k->negate_with);
  k->raw_first = k->raw_second = d.i.d = d.scratch(1);
  const Instr plain = d.i;
  finish(d, half ? half_comparison(d, t, c, false) : comparison(t, c), MixClass::predicate);
  if (d.has(".ftz") && !half) wrap_float(d, 2, false);
  k->first = d.keep(d.i);
  if (packed) {
    d.i = plain;
    k->raw_second = d.i.d = d.scratch(1);
    finish(d, half_comparison(d, t, c, true), MixClass::predicate);
    k->second = d.keep(d.i);
  }
  const s32 guard = plain.predicate;
  const bool negated = plain.negated;
  d.i = Instr{};
  d.i.predicate = guard;
  d.i.negated = negated;
  d.i.more = k;
  d.i.d = d.target(0, width(to));
  switch (to) {
    case Type::f32: k->p = 0x3f800000; break;
    case Type::f16:
    case Type::f16x2: k->p = 0x3c00; break;
    case Type::bf16:
    case Type::bf16x2: k->p = 0x3f80; break;
    default: k->p = packed ? 0xffff : UINT32_MAX;
  }
  finish(d, width(to) == 2 ? set_run<u16> : width(to) == 4 ? set_run<u32> : nullptr, MixClass::predicate);
}

template <class T>
void select(Warp& w, const Instr& i) {
  const T *a = reg<T>(w, i.a), *b = reg<T>(w, i.b);
  const u8* p = reg<u8>(w, i.c);
  const u8 flip = i.option;
  each<T>(w, i.d, [&](int l) { return p[l] ^ flip ? a[l] : b[l]; });
}
void selp(Decoder& d) {
  d.expect_operands(4);
  const unsigned n = width(d.type());
  d.i.d = d.target(0, n);
  d.i.a = d.source(1, n);
  d.i.b = d.source(2, n);
  bool negated = false;
  d.i.c = d.predicate(d.operand(3), negated);
  d.i.option = negated;
  finish(d, n == 2 ? select<u16> : n == 4 ? select<u32> : select<u64>, MixClass::predicate);
}
// option: a negative subnormal counts as zero.
template <class T, class C>
void by_sign(Warp& w, const Instr& i) {
  const T *a = reg<T>(w, i.a), *b = reg<T>(w, i.b);
  const C* c = reg<C>(w, i.c);
  const C least = std::is_same_v<C, float> && i.option ? static_cast<C>(-1.1754942e-38f) : C(0);
  each<T>(w, i.d, [&](int l) { return c[l] >= least ? a[l] : b[l]; });
}
void slct(Decoder& d) {
  d.expect_operands(4);
  const unsigned n = width(d.type(0));
  const bool real = d.type(1) == Type::f32;
  d.i.d = d.target(0, n);
  d.i.a = d.source(1, n);
  d.i.b = d.source(2, n);
  d.i.c = d.source(3, 4);
  d.i.option = d.has(".ftz");
  finish(d,
         real ? (n == 2   ? by_sign<u16, float>
                 : n == 4 ? by_sign<u32, float>
                          : by_sign<u64, float>)
              : (n == 2   ? by_sign<u16, s32>
                 : n == 4 ? by_sign<u32, s32>
                          : by_sign<u64, s32>),
         MixClass::predicate);
}

#define COMPARE "(.eq|.ne|.lt|.le|.gt|.ge|.lo|.ls|.hi|.hs|.equ|.neu|.ltu|.leu|.gtu|.geu|.num|.nan)"
#define COMBINE "{.and|.or|.xor}"
#define ANY "(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64|.f16|.f16x2|.bf16|.bf16x2)"
constexpr Row rows[] = {
    {"setp" COMPARE COMBINE "{.ftz}" ANY, setp},
    {"set" COMPARE COMBINE "{.ftz}(.u32|.s32|.f32|.u16|.s16|.f16|.bf16|.f16x2|.bf16x2)" ANY, set},
    {"selp(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64)", selp},
    {"slct(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64).s32", slct},
    {"slct{.ftz}(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64).f32", slct},
};
}  // namespace

std::span<const Row> compare_rows() { return rows; }

}  // namespace cudanalyst::isa
