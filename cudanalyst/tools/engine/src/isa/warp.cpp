// Exchange and agreement within a warp.
#include "lanes.hpp"

namespace cudanalyst::isa {
namespace {

void shuffle(Warp& w, const Instr& i) {
  u32 data[32];
  std::memcpy(data, reg<u32>(w, i.a), sizeof data);
  const u32 *b = reg<u32>(w, i.b), *c = reg<u32>(w, i.c);
  const u32 m = w.mask;
  u32* d = i.d == none ? nullptr : reg<u32>(w, i.d);
  u8* p = i.v[0] == none ? nullptr : reg<u8>(w, i.v[0]);
  u32 result[32];
  u8 valid[32];
  for (u32 l = 0; l < 32; ++l) {
    const u32 segment = c[l] >> 8 & 31, clamp = c[l] & 31, value = b[l] & 31;
    const u32 highest = (l & segment) | (clamp & ~segment), lowest = l & segment;
    u32 from;
    bool inside;
    switch (i.option) {
      case 0: from = l - value, inside = static_cast<s32>(from) >= static_cast<s32>(highest); break;
      case 1: from = l + value, inside = from <= highest; break;
      case 2: from = l ^ value, inside = from <= highest; break;
      default: from = lowest | (value & ~segment), inside = from <= highest; break;
    }
    result[l] = data[inside ? from & 31 : l];
    valid[l] = inside;
  }
  for (u32 l = 0; l < 32; ++l) {
    if (!(m >> l & 1)) continue;
    if (d) d[l] = result[l];
    if (p) p[l] = valid[l];
  }
}
// Lanes may meet in the operation from several places; these are the bytes of its source and result.
void meets_apart(Decoder& d, u32 source, u32 result) {
  d.i.control = Control::warp_sync;
  d.i.apart = true;
  d.i.width = static_cast<u8>(source);
  d.i.bytes = static_cast<u8>(result);
}
void shfl(Decoder& d) {
  d.expect_operands(5);
  const Operand& target = d.operand(0);
  const bool pair = target.kind == Operand::pair;
  d.i.d = d.target(pair ? d.part(target, 0) : target, 4);
  if (pair) d.i.v[0] = d.target(d.part(target, 1), 1);
  d.i.a = d.source(1, 4);
  d.i.b = d.source(2, 4);
  d.i.c = d.source(3, 4);
  d.i.e = d.source(4, 4);
  d.i.option = d.has(".up") ? 0 : d.has(".down") ? 1 : d.has(".bfly") ? 2 : 3;
  meets_apart(d, 4, 4);
  finish(d, shuffle, MixClass::shuffle);
}

void vote_run(Warp& w, const Instr& i) {
  const u8* a = reg<u8>(w, i.a);
  const u32* member = reg<u32>(w, i.e);
  u32 ballot = 0;
  for (u32 l = 0; l < 32; ++l) ballot |= static_cast<u32>((w.mask >> l & 1) & (a[l] ^ i.option2)) << l;
  for (u32 l = 0; l < 32; ++l) {
    if (!(w.mask >> l & 1)) continue;
    const u32 all = member[l] & w.mask, yes = ballot & member[l];
    switch (i.option) {
      case 0: reg<u32>(w, i.d)[l] = yes; break;
      case 1: reg<u8>(w, i.d)[l] = yes != 0; break;
      case 2: reg<u8>(w, i.d)[l] = yes == all; break;
      default: reg<u8>(w, i.d)[l] = yes == all || yes == 0; break;
    }
  }
}
void vote(Decoder& d) {
  d.expect_operands(3);
  d.i.option = d.has(".ballot") ? 0 : d.has(".any") ? 1 : d.has(".all") ? 2 : 3;
  d.i.d = d.target(0, d.i.option ? 1 : 4);
  bool negated = false;
  d.i.a = d.predicate(d.operand(1), negated);
  d.i.option2 = negated;
  d.i.e = d.source(2, 4);
  meets_apart(d, 1, d.i.option ? 1 : 4);
  finish(d, vote_run, MixClass::shuffle);
}

template <class T>
void match_run(Warp& w, const Instr& i) {
  const T* a = reg<T>(w, i.a);
  const u32* member = reg<u32>(w, i.e);
  u32 same[32];
  for (u32 l = 0; l < 32; ++l) {
    same[l] = 0;
    for (u32 k = 0; k < 32; ++k) same[l] |= static_cast<u32>((w.mask & member[l]) >> k & 1 && a[k] == a[l]) << k;
  }
  for (u32 l = 0; l < 32; ++l) {
    if (!(w.mask >> l & 1)) continue;
    const bool all = same[l] == (member[l] & w.mask);
    reg<u32>(w, i.d)[l] = i.option && !all ? 0 : same[l];
    if (i.v[0] != none) reg<u8>(w, i.v[0])[l] = all;
  }
}
void match(Decoder& d) {
  d.expect_operands(3);
  const Operand& target = d.operand(0);
  const bool pair = target.kind == Operand::pair;
  d.i.option = d.has(".all");
  if (pair && !d.i.option) Decoder::reject("");
  d.i.d = d.target(pair ? d.part(target, 0) : target, 4);
  if (pair) d.i.v[0] = d.target(d.part(target, 1), 1);
  d.i.a = d.source(1, width(d.type()));
  d.i.e = d.source(2, 4);
  meets_apart(d, width(d.type()), 4);
  finish(d, width(d.type()) == 4 ? match_run<u32> : match_run<u64>, MixClass::shuffle);
}

template <class T, auto F>
void reduce(Warp& w, const Instr& i) {
  const T* a = reg<T>(w, i.a);
  const u32* member = reg<u32>(w, i.e);
  T result[32];
  for (u32 l = 0; l < 32; ++l) {
    if (!(w.mask >> l & 1)) continue;
    bool first = true;
    for (u32 rest = w.mask & member[l]; rest; rest &= rest - 1) {
      const T value = a[__builtin_ctz(rest)];
      result[l] = first ? value : F(result[l], value);
      first = false;
    }
    if (first) result[l] = a[l];
  }
  for (u32 l = 0; l < 32; ++l)
    if (w.mask >> l & 1) reg<T>(w, i.d)[l] = result[l];
}
constexpr auto smaller = [](auto a, auto b) { return b < a ? b : a; };
constexpr auto larger = [](auto a, auto b) { return a < b ? b : a; };
void redux(Decoder& d) {
  d.expect_operands(3);
  d.i.d = d.target(0, 4);
  d.i.a = d.source(1, 4);
  d.i.e = d.source(2, 4);
  meets_apart(d, 4, 4);
  const bool s = d.type() == Type::s32;
  finish(d,
         d.has(".add")   ? reduce<u32, [](u32 a, u32 b) { return a + b; }>
         : d.has(".and") ? reduce<u32, [](u32 a, u32 b) { return a & b; }>
         : d.has(".or")  ? reduce<u32, [](u32 a, u32 b) { return a | b; }>
         : d.has(".xor") ? reduce<u32, [](u32 a, u32 b) { return a ^ b; }>
         : d.has(".min") ? (s ? reduce<s32, smaller> : reduce<u32, smaller>)
                         : (s ? reduce<s32, larger> : reduce<u32, larger>),
         MixClass::shuffle);
}

void active(Warp& w, const Instr& i) {
  const u32 m = w.mask;
  each<u32>(w, i.d, [&](int) { return m; });
}
void activemask(Decoder& d) {
  d.expect_operands(1);
  d.i.d = d.target(0, 4);
  finish(d, active, MixClass::shuffle);
}
void elect_run(Warp& w, const Instr& i) {
  const u32* member = reg<u32>(w, i.e);
  for (u32 l = 0; l < 32; ++l) {
    if (!(w.mask >> l & 1)) continue;
    const u32 all = member[l] & w.mask, leader = all ? static_cast<u32>(__builtin_ctz(all)) : l;
    if (i.d != none) reg<u32>(w, i.d)[l] = leader;
    reg<u8>(w, i.v[0])[l] = l == leader;
  }
}
void elect(Decoder& d) {
  d.expect_operands(2);
  const Operand& target = d.operand(0);
  if (target.kind != Operand::pair) Decoder::reject("one destination");
  if (d.part(target, 0).kind != Operand::sink) d.i.d = d.target(d.part(target, 0), 4);
  d.i.v[0] = d.target(d.part(target, 1), 1);
  d.i.e = d.source(1, 4);
  meets_apart(d, 0, 4);
  finish(d, elect_run, MixClass::shuffle);
}

constexpr Row rows[] = {
    {"shfl.sync(.up|.down|.bfly|.idx).b32", shfl},
    {"vote.sync.ballot.b32", vote},
    {"vote.ballot.sync.b32", vote},
    {"vote(.any|.all|.uni).sync.pred", vote},
    {"shfl(.up|.down|.bfly|.idx).sync.b32", shfl},
    {"vote.sync(.any|.all|.uni).pred", vote},
    {"match(.any|.all).sync(.b32|.b64)", match},
    {"match.sync(.any|.all)(.b32|.b64)", match},
    {"redux.sync(.add|.min|.max)(.u32|.s32)", redux},
    {"redux.sync(.and|.or|.xor).b32", redux},
    {"activemask.b32", activemask},
    {"elect.sync", elect},
};
}  // namespace

std::span<const Row> warp_rows() { return rows; }

}  // namespace cudanalyst::isa
