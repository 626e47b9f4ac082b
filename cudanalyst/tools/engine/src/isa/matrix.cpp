// Matrices between registers and memory: ldmatrix, stmatrix, movmatrix, wmma.load and wmma.store.
#include "matrix.hpp"

#include "../exec/access.hpp"

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

// ---- wmma.load and wmma.store: element e of lane l is element e * 32 + l of the matrix: a, c and d by rows, b by columns. Of four bits and one
// bit, which lie only so in memory, the unit is a word.
struct Named {
  std::string_view name;
  u32 m, n, k;
};
constexpr Named shapes[] = {{".m16n16k16", 16, 16, 16}, {".m32n8k16", 32, 8, 16}, {".m8n32k16", 8, 32, 16}, {".m16n16k8", 16, 16, 8},
                            {".m8n8k4", 8, 8, 4},       {".m8n8k32", 8, 8, 32},   {".m8n8k128", 8, 8, 128}};

struct Fragment {
  u32 outer, inner;  // in the order of the lanes
  bool along;        // inner elements are neighbours in memory
  bool store;
  u32 pack;  // elements in a unit
  u32 stride_slot;
  std::vector<u32> registers;
  const Instr* access;
};
template <class T>
inline void move_part(u32& word, u32 part, u64 at, bool store) {
  T& place = *reinterpret_cast<T*>(at);
  constexpr u32 bits = 8 * sizeof(T);
  if (store) place = static_cast<T>(word >> (bits * part));
  else if constexpr (bits == 32) word = place;
  else word = (word & ~(((1u << bits) - 1) << (bits * part))) | u32{place} << (bits * part);
}
void fragment_run(Warp& w, const Instr& i) {
  const Fragment& f = *static_cast<const Fragment*>(i.more);
  const u32 bytes = f.access->bytes, inner = f.inner / f.pack, units = f.outer * inner, per = bytes < 4 ? 4 / bytes : 1;
  const u32* stride = reg<u32>(w, f.stride_slot);
  for (u32 e = 0; e * 32 < units; ++e) {
    u64 at[32];
    lane_addresses(w, i, at);
    for (u32 l = 0; l < 32; ++l) {
      const u64 n = e * 32 + l, o = n / inner, x = n % inner;
      at[l] += f.pack > 1 ? 4 * x + o * stride[l] / f.pack * 4 : bytes * (f.along ? o * stride[l] + x : x * stride[l] + o);
    }
    const u32 good = resolve(w, *f.access, at);
    if (w.event) return;
    for (u32 l = 0; l < 32; ++l) {
      if (!(good >> l & 1)) continue;
      if (bytes == 8) {
        u64 &value = reg<u64>(w, f.registers[e])[l], &place = *reinterpret_cast<u64*>(at[l]);
        if (f.store) place = value;
        else value = place;
        continue;
      }
      u32& word = reg<u32>(w, f.registers[e / per])[l];
      if (bytes == 4) move_part<u32>(word, 0, at[l], f.store);
      else if (bytes == 2) move_part<u16>(word, e % 2, at[l], f.store);
      else move_part<u8>(word, e % 4, at[l], f.store);
    }
  }
}
void fragment(Decoder& d) {
  const bool store = d.has(".store");
  const Operand& address = d.operand(store ? 0 : 1);
  const Operand& data = d.operand(store ? 1 : 0);
  if (d.operands() < 2 || d.operands() > 3) Decoder::reject("operands of this form");
  auto* f = new Fragment{};
  d.program.owned.emplace_back(f, [](void* p) { delete static_cast<Fragment*>(p); });
  Product p;
  Element type = Element::none;
  for (const std::string_view m : d.mods) {
    if (const Element e = element_of(m); e != Element::none) type = e;
    for (const auto& [name, x, y, z] : shapes)
      if (name == m) p.m = x, p.n = y, p.k = z;
  }
  const char which = d.has(".a") ? 'a' : d.has(".b") ? 'b' : 'c';
  const unsigned bits = bits_of(type);
  f->outer = which == 'b' ? p.n : p.m;
  f->inner = which == 'c' ? p.n : p.k;
  f->along = d.has(which == 'b' ? ".col" : ".row");
  f->store = store;
  f->pack = bits < 8 ? 32 / bits : 1;
  memory_form(d, address);
  d.i.bytes = static_cast<u8>(bits < 8 ? 4 : bits / 8);
  d.i.access = store ? Access::write : Access::read;
  d.i.strong = false;
  const size_t count = fragment_registers(p, which, type);
  const unsigned bytes = bits == 64 ? 8 : 4;
  if (data.kind == Operand::vector ? data.count != count : count != 1) Decoder::reject("registers of another number");
  for (u32 k = 0; k < count; ++k) {
    const Operand& o = data.kind == Operand::vector ? d.part(data, k) : data;
    f->registers.push_back(store ? d.source(o, bytes) : d.target(o, bytes));
  }
  f->stride_slot = d.operands() == 3 ? d.source(2, 4) : d.constant(f->along ? f->inner : f->outer, 4);
  d.i.width = static_cast<u8>(bytes);
  d.i.v[0] = f->registers[0];
  f->access = d.keep(d.i);
  d.i.more = f;
  d.i.control = Control::warp_sync;
  const bool shared = d.i.space == AccessSpace::shared;
  finish(d, fragment_run,
         store    ? (shared ? MixClass::store_shared : MixClass::store_global)
         : shared ? MixClass::load_shared
                  : MixClass::load_global);
}

void transpose_run(Warp& w, const Instr& i) {
  u32 words[32];
  std::memcpy(words, reg<u32>(w, i.a), sizeof words);
  each<u32>(w, i.d, [&](int l) {
    const auto half = [&](u32 row, u32 column) { return words[row * 4 + column / 2] >> (16 * (column % 2)) & 0xffff; };
    const u32 row = static_cast<u32>(l) / 4, column = static_cast<u32>(l) % 4 * 2;
    return half(column, row) | half(column + 1, row) << 16;
  });
}
void movmatrix(Decoder& d) {
  sources(d, 1, 4);
  d.i.control = Control::warp_sync;
  finish(d, transpose_run, MixClass::shuffle);
}

#define SHARED "{.shared|.shared::cta}"
#define SPACES "{.global|.shared|.shared::cta}"
#define WIDE "(.m16n16k16|.m32n8k16|.m8n32k16)"
constexpr Row rows[] = {
    {"ldmatrix.sync.aligned.m8n8(.x1|.x2|.x4){.trans}" SHARED ".b16", ldmatrix},
    {"stmatrix.sync.aligned.m8n8(.x1|.x2|.x4){.trans}" SHARED ".b16", stmatrix},
    {"movmatrix.sync.aligned.m8n8.trans.b16", movmatrix},
    {"wmma.load(.a|.b).sync.aligned(.row|.col)" WIDE SPACES "(.f16|.bf16|.s8|.u8)", fragment},
    {"wmma.load(.a|.b).sync.aligned(.row|.col).m16n16k8" SPACES ".tf32", fragment},
    {"wmma.load(.a|.b).sync.aligned(.row|.col).m8n8k4" SPACES ".f64", fragment},
    {"wmma.load.a.sync.aligned.row.m8n8k32" SPACES "(.s4|.u4)", fragment},
    {"wmma.load.b.sync.aligned.col.m8n8k32" SPACES "(.s4|.u4)", fragment},
    {"wmma.load.a.sync.aligned.row.m8n8k128" SPACES ".b1", fragment},
    {"wmma.load.b.sync.aligned.col.m8n8k128" SPACES ".b1", fragment},
    {"wmma.load.c.sync.aligned(.row|.col)" WIDE SPACES "(.f16|.f32|.s32)", fragment},
    {"wmma.load.c.sync.aligned(.row|.col).m16n16k8" SPACES ".f32", fragment},
    {"wmma.load.c.sync.aligned(.row|.col).m8n8k4" SPACES ".f64", fragment},
    {"wmma.load.c.sync.aligned(.row|.col)(.m8n8k32|.m8n8k128)" SPACES ".s32", fragment},
    {"wmma.store.d.sync.aligned(.row|.col)" WIDE SPACES "(.f16|.f32|.s32)", fragment},
    {"wmma.store.d.sync.aligned(.row|.col).m16n16k8" SPACES ".f32", fragment},
    {"wmma.store.d.sync.aligned(.row|.col).m8n8k4" SPACES ".f64", fragment},
    {"wmma.store.d.sync.aligned(.row|.col)(.m8n8k32|.m8n8k128)" SPACES ".s32", fragment},
};
}  // namespace

std::span<const Row> matrix_rows() { return rows; }

}  // namespace cudanalyst::isa
