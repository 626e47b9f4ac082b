// Video instructions: sums, differences, limits and comparisons of parts of words, with saturation and a second operation.
#include "lanes.hpp"

namespace cudanalyst::isa {
namespace {

enum class Operation : u8 { add, sub, difference, least, most, average, left, right, product, compare };
enum class Second : u8 { none, add, least, most };

struct Part {  // of a word: `bits` from `from` on
  u8 from = 0, bits = 32;
};
struct Video {
  Operation operation;
  Second second = Second::none;
  bool signed_d, signed_a, signed_b, saturate, wrap;
  u8 comparison = 0, shift = 0;  // eq ne lt le gt ge
  u8 lanes = 1;                  // of a packed form: 2 or 4
  u8 mask = 15;                  // packed: which lanes are written
  bool merge = false;            // scalar: a part of the destination is written, the rest is c
  Part d, a, b;
  u8 select_a[4] = {}, select_b[4] = {};  // packed: lane of {b, a} that each takes
};

s64 take(u32 word, Part p, bool is_signed) {
  const u32 shift = 32 - p.bits;
  const u32 up = word >> p.from << shift;
  return is_signed ? s64{static_cast<s32>(up) >> shift} : s64{up >> shift};
}
s64 limit(s64 v, unsigned bits, bool is_signed) {
  const s64 low = is_signed ? -(s64{1} << (bits - 1)) : 0, high = (s64{1} << (is_signed ? bits - 1 : bits)) - 1;
  return v < low ? low : v > high ? high : v;
}
s64 operate(const Video& k, s64 a, s64 b) {
  switch (k.operation) {
    case Operation::add: return a + b;
    case Operation::sub: return a - b;
    case Operation::difference: return a < b ? b - a : a - b;
    case Operation::least: return a < b ? a : b;
    case Operation::most: return a > b ? a : b;
    case Operation::average: return (a + b + (a + b >= 0)) >> 1;
    case Operation::left: {
      const s64 n = k.wrap ? b & 31 : b > 32 ? 32 : b;
      return static_cast<s64>(static_cast<u64>(a) << n);
    }
    case Operation::right: {
      const s64 n = k.wrap ? b & 31 : b > 32 ? 32 : b;
      return a >> n;
    }
    case Operation::product: return a * b;
    default:
      switch (k.comparison) {
        case 0: return a == b;
        case 1: return a != b;
        case 2: return a < b;
        case 3: return a <= b;
        case 4: return a > b;
        default: return a >= b;
      }
  }
}

u32 scalar(const Video& k, u32 a, u32 b, u32 c) {
  s64 value = operate(k, take(a, k.a, k.signed_a), take(b, k.b, k.signed_b));
  if (k.operation == Operation::product) {
    value += k.signed_d ? s64{static_cast<s32>(c)} : s64{c};
    value >>= k.shift;
    return static_cast<u32>(k.saturate ? limit(value, 32, k.signed_d) : value);
  }
  if (k.saturate) value = limit(value, k.d.bits, k.signed_d);
  const u32 word = static_cast<u32>(value);
  if (k.merge) {
    const u32 mask = (k.d.bits == 32 ? UINT32_MAX : (1u << k.d.bits) - 1) << k.d.from;
    return (word << k.d.from & mask) | (c & ~mask);
  }
  switch (k.second) {
    case Second::none: return word;
    case Second::add: return word + c;
    case Second::least: return k.signed_d ? static_cast<u32>(std::min(static_cast<s32>(word), static_cast<s32>(c))) : std::min(word, c);
    default: return k.signed_d ? static_cast<u32>(std::max(static_cast<s32>(word), static_cast<s32>(c))) : std::max(word, c);
  }
}

u32 packed(const Video& k, u32 a, u32 b, u32 c) {
  const u8 bits = static_cast<u8>(32 / k.lanes);
  const auto lane = [&](u8 selected, bool is_signed) {
    return take(selected < k.lanes ? a : b, {static_cast<u8>(selected % k.lanes * bits), bits}, is_signed);
  };
  u32 result = k.second == Second::add ? c : 0;
  const u32 ones = (1u << bits) - 1;
  for (u8 n = 0; n < k.lanes; ++n) {
    if (!(k.mask >> n & 1)) {
      if (k.second != Second::add) result |= c & ones << (n * bits);
      continue;
    }
    s64 value = operate(k, lane(k.select_a[n], k.signed_a), lane(k.select_b[n], k.signed_b));
    if (k.saturate) value = limit(value, bits, k.signed_d);
    if (k.second == Second::add) result += static_cast<u32>(value);
    else result |= (static_cast<u32>(value) & ones) << (n * bits);
  }
  return result;
}

void run(Warp& w, const Instr& i) {
  const Video& k = *static_cast<const Video*>(i.more);
  const u32 *a = reg<u32>(w, i.a), *b = reg<u32>(w, i.b), *c = reg<u32>(w, i.c);
  each_slow<u32>(w, i.d, [&](int l) { return k.lanes > 1 ? packed(k, a[l], b[l], c[l]) : scalar(k, a[l], b[l], c[l]); });
}

Part part_of(std::string_view selector) {
  if (selector.empty()) return {};
  const bool byte = selector[1] == 'b';
  const int n = selector.size() == 3 ? selector[2] - '0' : -1;
  if (n < 0 || n > (byte ? 3 : 1) || (!byte && selector[1] != 'h')) Decoder::reject("a part of a word that it does not have");
  return byte ? Part{static_cast<u8>(8 * n), 8} : Part{static_cast<u8>(16 * n), 16};
}
// `.h32` or `.b7654`, the highest lane first.
void lanes_of(std::string_view selector, u8 lanes, u8* to) {
  if (selector.empty()) return;
  if (selector.size() != 2u + lanes || selector[1] != (lanes == 2 ? 'h' : 'b')) Decoder::reject("a selection of lanes that it does not have");
  for (u8 n = 0; n < lanes; ++n) {
    const int chosen = selector[1u + lanes - n] - '0';
    if (chosen < 0 || chosen >= 2 * lanes) Decoder::reject("a selection of lanes that it does not have");
    to[n] = static_cast<u8>(chosen);
  }
}
u32 selected(Decoder& d, size_t n, std::string_view& selector) {
  Operand o = d.operand(n);
  if (o.kind == Operand::reg) {
    selector = o.text;
    o.text = {};
  }
  return n ? d.source(o, 4) : d.target(o, 4);
}

Operation operation_of(std::string_view name) {
  struct Named {
    std::string_view name;
    Operation operation;
  };
  constexpr Named all[] = {{"vadd", Operation::add},    {"vsub", Operation::sub},     {"vabsdiff", Operation::difference},
                           {"vmin", Operation::least},  {"vmax", Operation::most},    {"vshl", Operation::left},
                           {"vshr", Operation::right},  {"vmad", Operation::product}, {"vavrg", Operation::average},
                           {"vset", Operation::compare}};
  for (const auto& n : all)
    if (n.name == name) return n.operation;
  Decoder::reject("");
}

void video(Decoder& d) {
  auto* k = new Video{};
  d.program.owned.emplace_back(k, [](void* p) { delete static_cast<Video*>(p); });
  std::string_view name = d.statement->op.substr(0, d.statement->op.find('.'));
  if (name.back() == '2' || name.back() == '4') {
    k->lanes = static_cast<u8>(name.back() - '0');
    name.remove_suffix(1);
  }
  k->operation = operation_of(name);
  k->saturate = d.has(".sat");
  k->wrap = d.has(".wrap");
  k->shift = d.has(".shr7") ? 7 : d.has(".shr15") ? 15 : 0;
  k->second = d.has(".add") ? Second::add : d.has(".min") ? Second::least : d.has(".max") ? Second::most : Second::none;
  const std::string_view names[] = {".eq", ".ne", ".lt", ".le", ".gt", ".ge"};
  for (u8 n = 0; n < 6; ++n)
    if (d.has(names[n])) k->comparison = n;
  const bool scalar_set = k->operation == Operation::compare && k->lanes == 1, set = k->operation == Operation::compare;
  k->signed_d = !set && d.type(0) == Type::s32;
  k->signed_a = d.type(scalar_set || set ? d.types.size() - 2 : 1) == Type::s32;
  k->signed_b = d.type(scalar_set || set ? d.types.size() - 1 : 2) == Type::s32;
  std::string_view to, a, b;
  d.i.d = selected(d, 0, to);
  d.i.a = selected(d, 1, a);
  d.i.b = selected(d, 2, b);
  const bool third = d.operands() == 4;
  if (!third) d.expect_operands(3);
  if (third) d.i.c = d.source(3, 4);
  else d.i.c = d.constant(0, 4);
  if (k->lanes > 1) {
    for (u8 n = 0; n < k->lanes; ++n) {
      k->select_a[n] = n;
      k->select_b[n] = static_cast<u8>(n + k->lanes);
    }
    lanes_of(a, k->lanes, k->select_a);
    lanes_of(b, k->lanes, k->select_b);
    if (!third) Decoder::reject("it has too few operands");
    if (!to.empty()) {
      k->mask = 0;
      for (const char c : to.substr(2)) k->mask = static_cast<u8>(k->mask | 1u << (c - '0'));
    }
  } else {
    // What a GPU makes of these is not what the PTX manual says of them (seen on an H200).
    if (!k->signed_d && k->saturate && to.empty() && !scalar_set && name != "vmin" && name != "vmax")
      Decoder::reject("saturation of an unsigned result");
    if (k->operation == Operation::product && !k->signed_d && k->shift) Decoder::reject("a scaled unsigned product");
    if (k->operation == Operation::difference && (k->second == Second::least || k->second == Second::most))
      Decoder::reject("a limit of a difference");
    k->a = part_of(a);
    k->b = part_of(b);
    k->d = part_of(to);
    if (k->operation == Operation::sub && !to.empty()) Decoder::reject("a difference that is merged");
    k->merge = !to.empty();
    if (third != (k->merge || k->second != Second::none || k->operation == Operation::product))
      Decoder::reject("a number of operands that it does not have");
  }
  d.i.more = k;
  finish(d, run, MixClass::integer);
}

#define TYPES "(.u32|.s32)(.u32|.s32)(.u32|.s32)"
#define COMPARE "(.eq|.ne|.lt|.le|.gt|.ge)"
constexpr Row rows[] = {
    {"vadd" TYPES "{.sat}{.add|.min|.max}", video},
    {"vsub" TYPES "{.sat}{.add|.min|.max}", video},
    {"vabsdiff" TYPES "{.sat}{.add|.min|.max}", video},
    {"vmin" TYPES "{.sat}{.add|.min|.max}", video},
    {"vmax" TYPES "{.sat}{.add|.min|.max}", video},
    {"vshl(.u32|.s32)(.u32|.s32).u32{.sat}(.clamp|.wrap){.add|.min|.max}", video},
    {"vshr(.u32|.s32)(.u32|.s32).u32{.sat}(.clamp|.wrap){.add|.min|.max}", video},
    {"vmad" TYPES "{.sat}{.shr7|.shr15}", video},
    {"vset(.u32|.s32)(.u32|.s32)" COMPARE "{.add|.min|.max}", video},
    {"vadd2" TYPES "{.sat}{.add}", video},
    {"vsub2" TYPES "{.sat}{.add}", video},
    {"vavrg2" TYPES "{.sat}{.add}", video},
    {"vabsdiff2" TYPES "{.sat}{.add}", video},
    {"vmin2" TYPES "{.sat}{.add}", video},
    {"vmax2" TYPES "{.sat}{.add}", video},
    {"vset2(.u32|.s32)(.u32|.s32)" COMPARE "{.add}", video},
    {"vadd4" TYPES "{.sat}{.add}", video},
    {"vsub4" TYPES "{.sat}{.add}", video},
    {"vavrg4" TYPES "{.sat}{.add}", video},
    {"vabsdiff4" TYPES "{.sat}{.add}", video},
    {"vmin4" TYPES "{.sat}{.add}", video},
    {"vmax4" TYPES "{.sat}{.add}", video},
    {"vset4(.u32|.s32)(.u32|.s32)" COMPARE "{.add}", video},
};
}  // namespace

std::span<const Row> video_rows() { return rows; }

}  // namespace cudanalyst::isa
