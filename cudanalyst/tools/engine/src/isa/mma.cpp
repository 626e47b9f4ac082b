// mma.sync and wmma.mma: which register of which lane holds which element, and back.
#include <algorithm>

#include "matrix.hpp"

namespace cudanalyst::isa {
namespace {

enum class Layout : u8 { groups, quads, fragments };

struct Multiply {
  Product product;
  Layout layout = Layout::groups;
  bool column_a = false, column_b = true;  // of quads
  std::vector<u32> d, a, b, c;             // registers
};

struct Spot {
  u32 row, column;
};

// mma.m16n8k*, m8n8k*: a lane has the row lane / 4 (and 8 below it), and in each register the elements of one word along k.
Spot spot_a(u32 lane, u32 r, u32 part, u32 per, bool tall) {
  const u32 half = tall ? r & 1 : 0, block = tall ? r >> 1 : r;
  return {lane / 4 + 8 * half, (lane % 4 + 4 * block) * per + part};
}
Spot spot_b(u32 lane, u32 r, u32 part, u32 per) { return {(lane % 4 + 4 * r) * per + part, lane / 4}; }
Spot spot_c(u32 lane, u32 e) { return {lane / 4 + (e & 2 ? 8 : 0), lane % 4 * 2 + (e & 1)}; }

inline u32 element(u32 word, u32 part, u32 bits) { return bits == 32 ? word : word >> (part * bits) & ((1u << bits) - 1); }
inline void set_half(u32& word, u32 part, u32 value) { word = part ? (word & 0xffff) | value << 16 : (word & 0xffff0000) | value; }

// Fragments are opaque (matrix.cpp): element e of lane l is element e * 32 + l of the matrix, of four bits word r of the lane is word r * 32 + l.
constexpr u32 most = 32 * 64;

// Of b1 the unit is a word.
u32 unit_bits(Element e) { return e == Element::b1 ? 32 : bits_of(e); }

void multiply_run(Warp& w, const Instr& i) {
  const Multiply& f = *static_cast<const Multiply*>(i.more);
  const Product& p = f.product;
  const u32 k = p.a == Element::b1 ? p.k / 32 : p.k;
  const u32 bits = unit_bits(p.a), per = 32 / bits;
  const bool tall = p.m == 16;
  u32 a[most], b[most], c[1024], d[1024];
  const auto gather = [&](const std::vector<u32>& registers, u32* to, u32 elements, auto place) {
    for (u32 r = 0; r < registers.size(); ++r) {
      const u32* words = reg<u32>(w, registers[r]);
      for (u32 l = 0; l < 32; ++l)
        for (u32 part = 0; part < per; ++part) {
          const u32 at = f.layout != Layout::fragments ? place(l, r, part) : bits == 4 ? (r * 32 + l) * per + part : (r * per + part) * 32 + l;
          if (at < elements) to[at] = element(words[l], part, bits);
        }
    }
  };
  gather(f.a, a, p.m * k, [&](u32 l, u32 r, u32 part) {
    const Spot s = spot_a(l, r, part, per, tall);
    return s.row * k + s.column;
  });
  gather(f.b, b, p.n * k, [&](u32 l, u32 r, u32 part) {
    const Spot s = spot_b(l, r, part, per);
    return s.column * k + s.row;
  });
  const u32 per_c = p.c == Element::f16 ? 2 : 1, per_d = p.d == Element::f16 ? 2 : 1;
  const auto place_c = [&](u32 l, u32 e) {
    if (f.layout == Layout::fragments) return e * 32 + l;
    const Spot s = spot_c(l, e);
    return s.row * p.n + s.column;
  };
  for (u32 e = 0; e < f.c.size() * per_c; ++e)
    for (u32 l = 0; l < 32; ++l) c[place_c(l, e)] = element(reg<u32>(w, f.c[e / per_c])[l], e % per_c, 32 / per_c);
  multiply(p, a, b, c, d);
  for (u32 e = 0; e < f.d.size() * per_d; ++e)
    for (u32 l = 0; l < 32; ++l) {
      u32& word = reg<u32>(w, f.d[e / per_d])[l];
      if (per_d == 1) word = d[place_c(l, e)];
      else set_half(word, e & 1, d[place_c(l, e)]);
    }
}

void multiply_doubles(Warp& w, const Instr& i) {
  const Multiply& f = *static_cast<const Multiply*>(i.more);
  const Product& p = f.product;
  double a[16 * 16], b[8 * 16], c[16 * 8];
  const bool opaque = f.layout == Layout::fragments;
  for (u32 l = 0; l < 32; ++l) {
    for (u32 r = 0; r < f.a.size(); ++r) {
      const Spot s = spot_a(l, r, 0, 1, p.m == 16);
      a[opaque ? r * 32 + l : s.row * p.k + s.column] = reg<double>(w, f.a[r])[l];
    }
    for (u32 r = 0; r < f.b.size(); ++r) {
      const Spot s = spot_b(l, r, 0, 1);
      b[opaque ? r * 32 + l : s.column * p.k + s.row] = reg<double>(w, f.b[r])[l];
    }
    for (u32 e = 0; e < f.c.size(); ++e) {
      const Spot s = spot_c(l, e);
      c[opaque ? e * 32 + l : s.row * p.n + s.column] = reg<double>(w, f.c[e])[l];
    }
  }
  multiply(p, a, b, c);
  for (u32 l = 0; l < 32; ++l)
    for (u32 e = 0; e < f.d.size(); ++e) {
      const Spot s = spot_c(l, e);
      reg<double>(w, f.d[e])[l] = c[opaque ? e * 32 + l : s.row * p.n + s.column];
    }
}

// m8n8k4 of f16: four products at once; that of quad q is done by the lanes 4q..4q+3 and 16 + 4q..16 + 4q + 3.
void multiply_quads(Warp& w, const Instr& i) {
  const Multiply& f = *static_cast<const Multiply*>(i.more);
  const Product& p = f.product;
  const bool wide_c = p.c == Element::f32, wide_d = p.d == Element::f32;
  // The place of element e of a lane in an 8 x 8 accumulator.
  const auto spot = [](u32 lane, u32 e, bool wide) -> Spot {
    const u32 below = lane >= 16 ? 4 : 0;
    if (!wide) return {lane % 4 + below, e};
    return {(lane & 1) + (e & 2) + below, (e & 4) + (lane & 2) + (e & 1)};
  };
  u32 result[4][64];
  for (u32 quad = 0; quad < 4; ++quad) {
    u32 a[32], b[32], c[64];
    for (u32 half = 0; half < 2; ++half)
      for (u32 n = 0; n < 4; ++n) {
        const u32 lane = 16 * half + 4 * quad + n;
        for (u32 e = 0; e < 4; ++e) {
          const u32 x = element(reg<u32>(w, f.a[e / 2])[lane], e % 2, 16), y = element(reg<u32>(w, f.b[e / 2])[lane], e % 2, 16);
          a[f.column_a ? (e + 4 * half) * 4 + n : (n + 4 * half) * 4 + e] = x;
          b[f.column_b ? (n + 4 * half) * 4 + e : (e + 4 * half) * 4 + n] = y;
        }
        for (u32 e = 0; e < 8; ++e) {
          const Spot s = spot(lane, e, wide_c);
          c[s.row * 8 + s.column] = wide_c ? reg<u32>(w, f.c[e])[lane] : element(reg<u32>(w, f.c[e / 2])[lane], e % 2, 16);
        }
      }
    multiply(p, a, b, c, result[quad]);
  }
  for (u32 lane = 0; lane < 32; ++lane)
    for (u32 e = 0; e < 8; ++e) {
      const Spot s = spot(lane, e, wide_d);
      const u32 value = result[lane % 16 / 4][s.row * 8 + s.column];
      if (wide_d) reg<u32>(w, f.d[e])[lane] = value;
      else set_half(reg<u32>(w, f.d[e / 2])[lane], e & 1, value);
    }
}

std::vector<u32> registers(Decoder& d, size_t operand, size_t count, unsigned bytes, bool target) {
  const Operand& o = d.operand(operand);
  if (o.kind != Operand::vector && count == 1) return {target ? d.target(o, bytes) : d.source(o, bytes)};
  if (o.kind != Operand::vector || o.count != count) Decoder::reject("registers of another number");
  std::vector<u32> result;
  for (u32 k = 0; k < o.count; ++k) result.push_back(target ? d.target(d.part(o, k), bytes) : d.source(d.part(o, k), bytes));
  return result;
}
Multiply* owned(Decoder& d) {
  auto* f = new Multiply{};
  d.program.owned.emplace_back(f, [](void* p) { delete static_cast<Multiply*>(p); });
  d.i.more = f;
  d.i.control = Control::warp_sync;
  return f;
}
// m16n8k32 and the element types, in their order.
void shape_and_types(const Decoder& d, Product& p, std::vector<Element>& types) {
  for (const std::string_view m : d.mods) {
    if (const Element e = element_of(m); e != Element::none) types.push_back(e);
    if (m[1] != 'm' || m.find('n') == std::string_view::npos) continue;
    u32* numbers[] = {&p.m, &p.n, &p.k};
    int which = -1;
    for (const char at : m.substr(1)) {
      if (at < '0' || at > '9') ++which;
      else *numbers[which] = *numbers[which] * 10 + static_cast<u32>(at - '0');
    }
  }
}

void mma(Decoder& d) {
  d.expect_operands(4);
  Multiply* f = owned(d);
  Product& p = f->product;
  std::vector<Element> types;
  shape_and_types(d, p, types);
  p.d = types[0], p.a = types[1], p.b = types[2], p.c = types[3];
  p.saturate = d.has(".satfinite");
  p.exclusive_or = d.has(".xor");
  const unsigned bits = bits_of(p.a), bytes = p.a == Element::f64 ? 8 : 4;
  if (bits_of(p.b) != bits) Decoder::reject("these element types");
  const bool quads = p.k == 4 && p.a == Element::f16;
  const size_t count_a = quads ? 2 : p.m * p.k * bits / 256 / bytes, count_b = quads ? 2 : p.n * p.k * bits / 256 / bytes;
  const auto accumulators = [&](Element e) -> size_t { return quads ? (e == Element::f16 ? 4 : 8) : p.m * p.n / 32 / (e == Element::f16 ? 2 : 1); };
  f->d = registers(d, 0, accumulators(p.d), bytes, true);
  f->a = registers(d, 1, count_a, bytes, false);
  f->b = registers(d, 2, count_b, bytes, false);
  f->c = registers(d, 3, accumulators(p.c), bytes, false);
  if (quads) {
    p.scalar = true;
    f->layout = Layout::quads;
    const auto at = std::find_if(d.mods.begin(), d.mods.end(), [](std::string_view m) { return m == ".row" || m == ".col"; });
    f->column_a = at[0] == ".col";
    f->column_b = at[1] == ".col";
  }
  finish(d, quads ? multiply_quads : bytes == 8 ? multiply_doubles : multiply_run, MixClass::tensor);
}

void wmma(Decoder& d) {
  d.expect_operands(4);
  Multiply* f = owned(d);
  Product& p = f->product;
  std::vector<Element> types;
  shape_and_types(d, p, types);
  if (types.size() == 2) {  // d and c of a product of f16
    p.a = p.b = Element::f16;
    p.d = types[0], p.c = types[1];
  } else {
    p.d = types[0], p.a = types[1], p.b = types[2], p.c = types[3];
  }
  p.saturate = d.has(".satfinite");
  p.exclusive_or = d.has(".xor");
  f->layout = Layout::fragments;
  const unsigned bytes = p.a == Element::f64 ? 8 : 4;
  f->d = registers(d, 0, fragment_registers(p, 'd', p.d), bytes, true);
  f->a = registers(d, 1, fragment_registers(p, 'a', p.a), bytes, false);
  f->b = registers(d, 2, fragment_registers(p, 'b', p.b), bytes, false);
  f->c = registers(d, 3, fragment_registers(p, 'c', p.c), bytes, false);
  finish(d, bytes == 8 ? multiply_doubles : multiply_run, MixClass::tensor);
}

#define MMA "mma.sync.aligned"
constexpr Row rows[] = {
    {MMA "(.m16n8k8|.m16n8k16).row.col.f32.f16.f16.f32", mma},
    {MMA "(.m16n8k8|.m16n8k16).row.col.f16.f16.f16.f16", mma},
    {MMA "(.m16n8k8|.m16n8k16).row.col.f32.bf16.bf16.f32", mma},
    {MMA "(.m16n8k4|.m16n8k8).row.col.f32.tf32.tf32.f32", mma},
    {MMA "(.m8n8k4|.m16n8k4|.m16n8k8|.m16n8k16).row.col{.rn}.f64.f64.f64.f64", mma},
    {MMA "(.m16n8k16|.m16n8k32).row.col.f32(.e4m3|.e5m2)(.e4m3|.e5m2).f32", mma},
    {MMA "(.m16n8k16|.m16n8k32).row.col.f16(.e4m3|.e5m2)(.e4m3|.e5m2).f16", mma},
    {MMA ".m8n8k4(.row|.col)(.row|.col)(.f16|.f32).f16.f16(.f16|.f32)", mma},
    {MMA "(.m8n8k16|.m16n8k16|.m16n8k32).row.col{.satfinite}.s32(.s8|.u8)(.s8|.u8).s32", mma},
    {MMA "(.m8n8k32|.m16n8k32|.m16n8k64).row.col{.satfinite}.s32(.s4|.u4)(.s4|.u4).s32", mma},
    {MMA "(.m8n8k128|.m16n8k128|.m16n8k256).row.col.s32.b1.b1.s32(.xor|.and).popc", mma},
    {"wmma.mma.sync.aligned(.row|.col)(.row|.col)(.m16n16k16|.m32n8k16|.m8n32k16)(.f16|.f32)(.f16|.f32){.satfinite}", wmma},
    {"wmma.mma.sync.aligned(.row|.col)(.row|.col)(.m16n16k16|.m32n8k16|.m8n32k16).f32.bf16.bf16.f32", wmma},
    {"wmma.mma.sync.aligned(.row|.col)(.row|.col).m16n16k8.f32.tf32.tf32.f32", wmma},
    {"wmma.mma.sync.aligned(.row|.col)(.row|.col).m8n8k4.f64.f64.f64.f64{.rn}", wmma},
    {"wmma.mma.sync.aligned(.row|.col)(.row|.col)(.m16n16k16|.m32n8k16|.m8n32k16).s32.s8.s8.s32{.satfinite}", wmma},
    {"wmma.mma.sync.aligned(.row|.col)(.row|.col)(.m16n16k16|.m32n8k16|.m8n32k16).s32.u8.u8.s32{.satfinite}", wmma},
    {"wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32{.satfinite}", wmma},
    {"wmma.mma.sync.aligned.row.col.m8n8k32.s32.u4.u4.s32{.satfinite}", wmma},
    {"wmma.mma(.xor|.and).popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32", wmma},
};
}  // namespace

// The number of registers that nvcc gives a fragment of wmma: a and b of f16 have 8, each element twice; the others what their elements fill.
size_t fragment_registers(const Product& p, char which, Element e) {
  if ((which == 'a' || which == 'b') && e == Element::f16) return 8;
  const u32 elements = which == 'a' ? p.m * p.k : which == 'b' ? p.k * p.n : p.m * p.n;
  return elements * bits_of(e) / 32 / (e == Element::f64 ? 64 : 32);
}

std::span<const Row> mma_rows() { return rows; }

}  // namespace cudanalyst::isa
