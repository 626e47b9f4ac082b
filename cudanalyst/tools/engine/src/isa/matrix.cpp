// Matrix instructions: ldmatrix, stmatrix, mma, wmma. Sums are in float in the order of k; a GPU adds in another order and width, so the last
// bits of a result may differ.
#include "../exec/access.hpp"
#include "half.hpp"
#include "lanes.hpp"

namespace cudanalyst::isa {

void memory_form(Decoder& d, const Operand& address);

namespace {

// ---- ldmatrix and stmatrix: 8x8 matrices of 16-bit elements; lanes 8k..8k+7 give the rows of matrix k.
void ldmatrix_run(Warp& w, const Instr& i) {
  u64 at[32];
  lane_addresses(w, i, at);
  const u32 lanes = w.mask;
  w.mask = i.option == 1 ? 0xff : i.option == 2 ? 0xffff : UINT32_MAX;
  const u32 good = resolve(w, i, at);
  const u32 wanted = w.mask;
  w.mask = lanes;
  if (good != wanted) return;
  for (u32 k = 0; k < i.option; ++k) {
    u32* d = reg<u32>(w, i.v[k]);
    for (u32 l = 0; l < 32; ++l) {
      u16 low, high;
      if (i.option2) {  // transposed
        low = reinterpret_cast<const u16*>(at[8 * k + l % 4 * 2])[l / 4];
        high = reinterpret_cast<const u16*>(at[8 * k + l % 4 * 2 + 1])[l / 4];
      } else {
        low = reinterpret_cast<const u16*>(at[8 * k + l / 4])[l % 4 * 2];
        high = reinterpret_cast<const u16*>(at[8 * k + l / 4])[l % 4 * 2 + 1];
      }
      d[l] = u32{high} << 16 | low;
    }
  }
}
void stmatrix_run(Warp& w, const Instr& i) {
  u64 at[32];
  lane_addresses(w, i, at);
  const u32 lanes = w.mask;
  w.mask = i.option == 1 ? 0xff : i.option == 2 ? 0xffff : UINT32_MAX;
  const u32 good = resolve(w, i, at);
  const u32 wanted = w.mask;
  w.mask = lanes;
  if (good != wanted) return;
  for (u32 k = 0; k < i.option; ++k) {
    const u32* s = reg<u32>(w, i.v[k]);
    for (u32 l = 0; l < 32; ++l)
      for (u32 half = 0; half < 2; ++half) {
        const u16 value = static_cast<u16>(s[l] >> (16 * half));
        const u32 row = i.option2 ? l % 4 * 2 + half : l / 4, column = i.option2 ? l / 4 : l % 4 * 2 + half;
        reinterpret_cast<u16*>(at[8 * k + row])[column] = value;
      }
  }
}
void matrix_access(Decoder& d, bool load) {
  d.expect_operands(2);
  const Operand &data = d.operand(load ? 0 : 1), &address = d.operand(load ? 1 : 0);
  const u32 n = d.has(".x1") ? 1 : d.has(".x2") ? 2 : 4;
  if (data.kind != Operand::vector || data.count != n) Decoder::reject("registers of another number");
  memory_form(d, address);
  d.i.bytes = 16;
  d.i.access = load ? Access::read : Access::write;
  d.i.option = static_cast<u8>(n);
  d.i.option2 = d.has(".trans");
  for (u32 k = 0; k < n; ++k) d.i.v[k] = load ? d.target(d.part(data, k), 4) : d.source(d.part(data, k), 4);
  d.i.strong = false;
  d.i.control = Control::warp_sync;
  finish(d, load ? ldmatrix_run : stmatrix_run, load ? MixClass::load_shared : MixClass::store_shared);
}
void ldmatrix(Decoder& d) { matrix_access(d, true); }
void stmatrix(Decoder& d) { matrix_access(d, false); }

// ---- mma and wmma
enum class Element : u8 { half, brain, tf32, real };
float element(Element e, u32 word, u32 part) {
  switch (e) {
    case Element::half: return from_half(static_cast<u16>(word >> (16 * part)));
    case Element::brain: return from_bf16(static_cast<u16>(word >> (16 * part)));
    case Element::tf32: return std::bit_cast<float>(word & 0xffffe000u);
    default: return std::bit_cast<float>(word);
  }
}

struct Multiply {
  u32 m, n, k;
  Element in, c, d;
  bool fragments;  // wmma: opaque layout of our own
  bool column_a, column_b;
  std::vector<u32> rd, ra, rb, rc;
};

// Where element e of lane l lies in the fragments of mma.m16n8k*.
struct Spot {
  u32 row, column;
};
Spot spot_a(u32 l, u32 e, bool wide) {  // wide: 32-bit elements
  if (wide) return {l / 4 + (e & 1 ? 8 : 0), l % 4 + (e & 2 ? 4 : 0)};
  return {l / 4 + (e & 2 ? 8 : 0), l % 4 * 2 + (e & 1) + (e >= 4 ? 8 : 0)};
}
Spot spot_b(u32 l, u32 e, bool wide) {
  if (wide) return {l % 4 + 4 * e, l / 4};
  return {l % 4 * 2 + (e & 1) + (e >= 2 ? 8 : 0), l / 4};
}
Spot spot_c(u32 l, u32 e) { return {l / 4 + (e & 2 ? 8 : 0), l % 4 * 2 + (e & 1)}; }

// wmma fragments: element e of lane l is element e * 32 + l of the matrix in row order (m x k, k x n, m x n).
void multiply_run(Warp& w, const Instr& i) {
  const Multiply& f = *static_cast<const Multiply*>(i.more);
  const u32 m = f.m, n = f.n, k = f.k;
  float a[32 * 16], b[32 * 16], c[32 * 16];
  const bool wide = f.in == Element::tf32;
  const u32 per = wide ? 1 : 2;
  for (u32 l = 0; l < 32; ++l) {
    for (u32 e = 0; e < f.ra.size() * per; ++e) {
      const float v = element(f.in, reg<u32>(w, f.ra[e / per])[l], e % per);
      if (f.fragments) {
        if (e * 32 < m * k) a[e * 32 + l] = v;
      } else {
        const Spot s = spot_a(l, e, wide);
        a[s.row * k + s.column] = v;
      }
    }
    for (u32 e = 0; e < f.rb.size() * per; ++e) {
      const float v = element(f.in, reg<u32>(w, f.rb[e / per])[l], e % per);
      if (f.fragments) {
        if (e * 32 < k * n) b[e * 32 + l] = v;
      } else {
        const Spot s = spot_b(l, e, wide);
        b[s.row * n + s.column] = v;
      }
    }
    const u32 per_c = f.c == Element::half ? 2 : 1;
    for (u32 e = 0; e < f.rc.size() * per_c; ++e) {
      const float v = element(f.c, reg<u32>(w, f.rc[e / per_c])[l], e % per_c);
      if (f.fragments) {
        c[e * 32 + l] = v;
      } else {
        const Spot s = spot_c(l, e);
        c[s.row * n + s.column] = v;
      }
    }
  }
  for (u32 r = 0; r < m; ++r)
    for (u32 q = 0; q < k; ++q) {
      const float x = a[r * k + q];
      for (u32 s = 0; s < n; ++s) c[r * n + s] += x * b[q * n + s];
    }
  const u32 per_d = f.d == Element::half ? 2 : 1;
  for (u32 l = 0; l < 32; ++l)
    for (u32 e = 0; e < f.rd.size() * per_d; ++e) {
      u32 at = e * 32 + l;
      if (!f.fragments) {
        const Spot s = spot_c(l, e);
        at = s.row * n + s.column;
      }
      u32& word = reg<u32>(w, f.rd[e / per_d])[l];
      if (per_d == 1) word = std::bit_cast<u32>(c[at]);
      else word = e % 2 ? (word & 0xffff) | u32{to_half(c[at])} << 16 : (word & 0xffff0000) | to_half(c[at]);
    }
}

Element kind_of(Type t) {
  switch (t) {
    case Type::f16: return Element::half;
    case Type::bf16: return Element::brain;
    case Type::tf32: return Element::tf32;
    case Type::f32: return Element::real;
    default: Decoder::reject("these element types");
  }
}
std::vector<u32> registers(Decoder& d, size_t operand, size_t count, bool target) {
  const Operand& o = d.operand(operand);
  if (o.kind != Operand::vector || o.count != count) Decoder::reject("registers of another number");
  std::vector<u32> result;
  for (u32 k = 0; k < o.count; ++k) result.push_back(target ? d.target(d.part(o, k), 4) : d.source(d.part(o, k), 4));
  return result;
}
Multiply* owned(Decoder& d) {
  auto* f = new Multiply{};
  d.program.owned.emplace_back(f, [](void* p) { delete static_cast<Multiply*>(p); });
  d.i.more = f;
  d.i.control = Control::warp_sync;
  return f;
}
void mma(Decoder& d) {
  d.expect_operands(4);
  Multiply* f = owned(d);
  f->m = 16;
  f->n = 8;
  f->k = d.has(".m16n8k16") ? 16 : d.has(".m16n8k8") ? 8 : 4;
  if (d.types.size() != 4 || d.type(1) != d.type(2)) Decoder::reject("these element types");
  f->d = kind_of(d.type(0));
  f->in = kind_of(d.type(1));
  f->c = kind_of(d.type(3));
  const bool wide = f->in == Element::tf32;
  if ((wide ? f->k > 8 : f->k < 8) || (f->d == Element::half && f->in != Element::half)) Decoder::reject("this shape with these types");
  const size_t a = 16 * f->k / 32 / (wide ? 1 : 2), b = 8 * f->k / 32 / (wide ? 1 : 2);
  f->rd = registers(d, 0, f->d == Element::half ? 2 : 4, true);
  f->ra = registers(d, 1, a, false);
  f->rb = registers(d, 2, b, false);
  f->rc = registers(d, 3, f->c == Element::half ? 2 : 4, false);
  finish(d, multiply_run, MixClass::tensor);
}

struct Shape {
  u32 m, n, k;
};
Shape shape_of(const Decoder& d) {
  if (d.has(".m16n16k16")) return {16, 16, 16};
  if (d.has(".m32n8k16")) return {32, 8, 16};
  if (d.has(".m8n32k16")) return {8, 32, 16};
  return {16, 16, 8};
}
// The number of registers that nvcc gives a fragment: a and b of f16 have 8, each element twice; of bf16 4 (m16n16k16) ... all in 32-bit registers.
size_t fragment_registers(const Shape& s, char which, Element e) {
  if (which == 'c') return e == Element::half ? 4 : 8;
  if (e == Element::half) return 8;
  if (e == Element::tf32) return 4;
  const u32 elements = which == 'a' ? s.m * s.k : s.k * s.n;
  return elements / 64;
}
void wmma_mma(Decoder& d) {
  d.expect_operands(4);
  Multiply* f = owned(d);
  const Shape s = shape_of(d);
  f->m = s.m, f->n = s.n, f->k = s.k;
  f->fragments = true;
  const auto& t = d.types;
  if (t.size() == 2) {  // f16: d and c
    f->in = Element::half;
    f->d = kind_of(t[0]);
    f->c = kind_of(t[1]);
  } else if (t.size() == 4 && t[1] == t[2] && t[0] == Type::f32 && t[3] == Type::f32) {
    f->in = kind_of(t[1]);
    f->d = f->c = Element::real;
  } else {
    Decoder::reject("these element types");
  }
  f->rd = registers(d, 0, fragment_registers(s, 'c', f->d), true);
  f->ra = registers(d, 1, fragment_registers(s, 'a', f->in), false);
  f->rb = registers(d, 2, fragment_registers(s, 'b', f->in), false);
  f->rc = registers(d, 3, fragment_registers(s, 'c', f->c), false);
  finish(d, multiply_run, MixClass::tensor);
}

struct Fragment {
  u32 rows, columns;
  bool column_major, store;
  Element type;
  u32 stride_slot;
  std::vector<u32> registers;
  const Instr* access;
};
void fragment_run(Warp& w, const Instr& i) {
  const Fragment& f = *static_cast<const Fragment*>(i.more);
  const u32 bytes = f.access->bytes, elements = f.rows * f.columns, per = bytes == 2 ? 2 : 1;
  const u32* stride = reg<u32>(w, f.stride_slot);
  for (u32 e = 0; e * 32 < elements; ++e) {
    u64 at[32];
    lane_addresses(w, i, at);
    for (u32 l = 0; l < 32; ++l) {
      const u32 n = e * 32 + l, r = n / f.columns, c = n % f.columns;
      at[l] += u64{bytes} * (f.column_major ? u64{c} * stride[l] + r : u64{r} * stride[l] + c);
    }
    const u32 good = resolve(w, *f.access, at);
    if (w.event) return;
    for (u32 l = 0; l < 32; ++l) {
      if (!(good >> l & 1)) continue;
      u32& word = reg<u32>(w, f.registers[e / per])[l];
      if (f.store) {
        if (bytes == 4) *reinterpret_cast<u32*>(at[l]) = word;
        else *reinterpret_cast<u16*>(at[l]) = static_cast<u16>(word >> (16 * (e % 2)));
      } else if (bytes == 4) {
        word = *reinterpret_cast<const u32*>(at[l]);
      } else {
        const u16 v = *reinterpret_cast<const u16*>(at[l]);
        word = e % 2 ? (word & 0xffff) | u32{v} << 16 : (word & 0xffff0000) | v;
      }
    }
  }
}
void fragment(Decoder& d) {
  const bool store = d.has(".store");
  const Operand& address = d.operand(store ? 0 : 1);
  const Operand& data = d.operand(store ? 1 : 0);
  if (d.operands() < 2 || d.operands() > 3 || data.kind != Operand::vector) Decoder::reject("operands of this form");
  auto* f = new Fragment{};
  d.program.owned.emplace_back(f, [](void* p) { delete static_cast<Fragment*>(p); });
  const Shape s = shape_of(d);
  const char which = d.has(".a") ? 'a' : d.has(".b") ? 'b' : 'c';
  f->rows = which == 'b' ? s.k : s.m;
  f->columns = which == 'a' ? s.k : s.n;
  f->column_major = d.has(".col");
  f->store = store;
  f->type = kind_of(d.type());
  if (which == 'c' && f->type == Element::brain) Decoder::reject("this element type");
  memory_form(d, address);
  d.i.bytes = static_cast<u8>(f->type == Element::half || f->type == Element::brain ? 2 : 4);
  d.i.access = store ? Access::write : Access::read;
  d.i.strong = false;
  const size_t count = fragment_registers(s, which, f->type);
  if (data.count != count) Decoder::reject("registers of another number");
  for (u32 k = 0; k < count; ++k) f->registers.push_back(store ? d.source(d.part(data, k), 4) : d.target(d.part(data, k), 4));
  const bool natural_column = f->column_major;
  f->stride_slot = d.operands() == 3 ? d.source(2, 4) : d.constant(natural_column ? f->rows : f->columns, 4);
  d.i.width = 4;
  d.i.v[0] = f->registers[0];
  f->access = d.keep(d.i);
  d.i.more = f;
  d.i.control = Control::warp_sync;
  finish(d, fragment_run, store ? MixClass::store_global : MixClass::load_global);
}

#define SHARED "{.shared|.shared::cta}"
#define SPACES "{.global|.shared|.shared::cta}"
constexpr Row rows[] = {
    {"ldmatrix.sync.aligned.m8n8(.x1|.x2|.x4){.trans}" SHARED ".b16", ldmatrix},
    {"stmatrix.sync.aligned.m8n8(.x1|.x2|.x4){.trans}" SHARED ".b16", stmatrix},
    {"mma.sync.aligned(.m16n8k16|.m16n8k8|.m16n8k4).row.col(.f32|.f16)(.f16|.bf16|.tf32)(.f16|.bf16|.tf32)(.f32|.f16)", mma},
    {"wmma.load(.a|.b).sync.aligned(.row|.col)(.m16n16k16|.m32n8k16|.m8n32k16)" SPACES "(.f16|.bf16)", fragment},
    {"wmma.load(.a|.b).sync.aligned(.row|.col).m16n16k8" SPACES ".tf32", fragment},
    {"wmma.load.c.sync.aligned(.row|.col)(.m16n16k16|.m32n8k16|.m8n32k16|.m16n16k8)" SPACES "(.f16|.f32)", fragment},
    {"wmma.store.d.sync.aligned(.row|.col)(.m16n16k16|.m32n8k16|.m8n32k16|.m16n16k8)" SPACES "(.f16|.f32)", fragment},
    {"wmma.mma.sync.aligned(.row|.col)(.row|.col)(.m16n16k16|.m32n8k16|.m8n32k16)(.f16|.f32)(.f16|.f32)", wmma_mma},
    {"wmma.mma.sync.aligned(.row|.col)(.row|.col)(.m16n16k16|.m32n8k16|.m8n32k16).f32.bf16.bf16.f32", wmma_mma},
    {"wmma.mma.sync.aligned(.row|.col)(.row|.col).m16n16k8.f32.tf32.tf32.f32", wmma_mma},
};
}  // namespace

std::span<const Row> matrix_rows() { return rows; }

}  // namespace cudanalyst::isa
