// Loads and stores.
#include <array>

#include "../exec/access.hpp"
#include "lanes.hpp"

namespace cudanalyst::isa {

// Sets space, base, and ordering of a memory instruction from its modifiers.
void memory_form(Decoder& d, const Operand& address) {
  Instr& i = d.i;
  i.space = d.has(".global")                                                                         ? AccessSpace::global
            : d.has(".shared") || d.has(".shared::cta") || d.has(".shared::cluster")                 ? AccessSpace::shared
            : d.has(".local") || d.has(".param") || d.has(".param::func") || d.has(".param::entry") ? AccessSpace::local
            : d.has(".const")                                                                        ? AccessSpace::constant
                                                                                                     : AccessSpace::generic;
  i.acquire = d.has(".acquire") || d.has(".acq_rel");
  i.release = d.has(".release") || d.has(".acq_rel");
  i.strong = i.acquire || i.release || d.has(".volatile") || d.has(".relaxed") || d.has(".mmio");
  d.address(address);
  if (i.base == AddressBase::absolute && address.base) {
    const Space s = address.base->space;
    if (s == Space::shared && i.space == AccessSpace::generic) i.space = AccessSpace::shared;
  }
}

namespace {

template <class T, class R>
void load(Warp& w, const Instr& i) {
  u64 at[32];
  lane_addresses(w, i, at);
  const u32 m = resolve(w, i, at);
  if (__builtin_expect(m != w.mask, 0)) {
    if (w.event) return;
    for (u32 j = 0; j < i.count; ++j)
      for (u32 l = 0; l < 32; ++l)
        if ((w.mask & ~m) >> l & 1) reg<R>(w, i.v[j])[l] = R(0);
    if (!m) return;
  }
  const u32 n = i.count;
  if (m == UINT32_MAX && n == 1) {
    R* d = reg<R>(w, i.v[0]);
    u64 apart = 0;
    for (u64 l = 0; l < 32; ++l) apart |= at[l] ^ (at[0] + l * sizeof(T));
    if (apart == 0) {
      const T* from = reinterpret_cast<const T*>(at[0]);
      for (int l = 0; l < 32; ++l) d[l] = static_cast<R>(from[l]);
    } else {
      for (int l = 0; l < 32; ++l) d[l] = static_cast<R>(*reinterpret_cast<const T*>(at[l]));
    }
    if (i.strong) w.spinning = true;
    return;
  }
  for (u32 j = 0; j < n; ++j) {
    R* d = reg<R>(w, i.v[j]);
    for (u32 l = 0; l < 32; ++l)
      if (m >> l & 1) d[l] = static_cast<R>(*reinterpret_cast<const T*>(at[l] + j * sizeof(T)));
  }
  if (i.strong) w.spinning = true;
}

// The most frequent access of all, in run mode: one 32-bit word of shared memory by a 32-bit address. Each eight lanes usually read
// one word or eight in a row.
using Eight = u32 __attribute__((vector_size(32)));
void load_shared_word(Warp& w, const Instr& i) {
  const u32* a = reg<u32>(w, i.a);
  const size_t bytes = w.block->shared_bytes;
  if (w.mask != UINT32_MAX || bytes < 4 || bytes > UINT32_MAX) return load<u32, u32>(w, i);
  const u32 offset = static_cast<u32>(i.offset), last = static_cast<u32>(bytes - 4);
  u32 at[32];
  u32 outside = 0, bits = 0;
  for (int l = 0; l < 32; ++l) {
    at[l] = a[l] + offset;
    outside |= static_cast<u32>(at[l] > last);
    bits |= at[l];
  }
  if (__builtin_expect((outside | (bits & 3)) != 0, 0)) return load<u32, u32>(w, i);
  u32* d = reg<u32>(w, i.v[0]);
  const u8* shared = w.block->shared;
  for (int from = 0; from < 32; from += 8) {
    const u32 first = at[from];
    Eight words;
    std::memcpy(&words, at + from, sizeof words);
    const auto same = std::bit_cast<std::array<u64, 4>>(words ^ first);
    const auto row = std::bit_cast<std::array<u64, 4>>(words ^ (Eight{0, 4, 8, 12, 16, 20, 24, 28} + first));
    const u64 differs = same[0] | same[1] | same[2] | same[3], apart = row[0] | row[1] | row[2] | row[3];
    if (differs == 0) {
      const u32 word = *reinterpret_cast<const u32*>(shared + first);
      for (int k = 0; k < 8; ++k) d[from + k] = word;
    } else if (apart == 0) {
      std::memcpy(d + from, shared + first, 32);
    } else {
      for (int k = 0; k < 8; ++k) d[from + k] = *reinterpret_cast<const u32*>(shared + at[from + k]);
    }
  }
}

template <class T, class R>
void store(Warp& w, const Instr& i) {
  u64 at[32];
  lane_addresses(w, i, at);
  const u32 m = resolve(w, i, at);
  if (!m) return;
  for (u32 j = 0; j < i.count; ++j) {
    const R* s = reg<R>(w, i.v[j]);
    if (m == UINT32_MAX)
      for (u32 l = 0; l < 32; ++l) *reinterpret_cast<T*>(at[l] + j * sizeof(T)) = static_cast<T>(s[l]);
    else
      for (u32 l = 0; l < 32; ++l)
        if (m >> l & 1) *reinterpret_cast<T*>(at[l] + j * sizeof(T)) = static_cast<T>(s[l]);
  }
}

// Kernel parameters, and arguments and results of functions: always in place, so nothing to check.
template <class T, class R>
void load_parameter(Warp& w, const Instr& i) {
  for (u32 j = 0; j < i.count; ++j) {
    T value;
    std::memcpy(&value, w.context->launch->parameters + i.offset + j * sizeof(T), sizeof value);
    each<R>(w, i.v[j], [&](int) { return static_cast<R>(value); });
  }
}
inline u8* frame_bytes(Warp& w, const Instr& i, u32 l) {
  return w.block->local + (u64{w.id} * 32 + l) * w.block->local_stride + w.frame->local + static_cast<u64>(i.offset);
}
template <class T, class R>
void load_argument(Warp& w, const Instr& i) {
  for (u32 j = 0; j < i.count; ++j)
    each_slow<R>(w, i.v[j], [&](int l) {
      T value;
      std::memcpy(&value, frame_bytes(w, i, static_cast<u32>(l)) + j * sizeof(T), sizeof value);
      return static_cast<R>(value);
    });
}
template <class T, class R>
void store_argument(Warp& w, const Instr& i) {
  for (u32 j = 0; j < i.count; ++j) {
    const R* s = reg<R>(w, i.v[j]);
    for (u32 l = 0; l < 32; ++l) {
      if (!(w.mask >> l & 1)) continue;
      const T value = static_cast<T>(s[l]);
      std::memcpy(frame_bytes(w, i, l) + j * sizeof(T), &value, sizeof value);
    }
  }
}

enum Flavour { plain_load, parameter_load, argument_load, plain_store, argument_store };
template <class T, class R>
Execute flavour(Flavour f) {
  switch (f) {
    case plain_load: return load<T, R>;
    case parameter_load: return load_parameter<T, R>;
    case argument_load: return load_argument<T, R>;
    case plain_store: return store<T, R>;
    default: return store_argument<T, R>;
  }
}
template <class R>
Execute by_type(Flavour f, Type t) {
  switch (t) {
    case Type::u8: case Type::b8: return flavour<u8, R>(f);
    case Type::s8: return flavour<s8, R>(f);
    case Type::u16: case Type::b16: case Type::f16: case Type::bf16: return flavour<u16, R>(f);
    case Type::s16: return flavour<s16, R>(f);
    case Type::u32: case Type::b32: case Type::f32: case Type::f16x2: case Type::bf16x2:
      if constexpr (sizeof(R) >= 4) return flavour<u32, R>(f);
      return nullptr;
    case Type::s32:
      if constexpr (sizeof(R) >= 4) return flavour<s32, R>(f);
      return nullptr;
    case Type::u64: case Type::s64: case Type::b64: case Type::f64:
      if constexpr (sizeof(R) == 8) return flavour<u64, R>(f);
      return nullptr;
    default: return nullptr;
  }
}

MixClass mix_of(AccessSpace s, bool load) {
  switch (s) {
    case AccessSpace::shared: return load ? MixClass::load_shared : MixClass::store_shared;
    case AccessSpace::local: return load ? MixClass::load_local : MixClass::store_local;
    case AccessSpace::constant: return MixClass::load_constant;
    default: return load ? MixClass::load_global : MixClass::store_global;
  }
}

void access(Decoder& d, bool is_load) {
  Instr& i = d.i;
  const Type t = d.type();
  d.expect_operands(d.has(".L2::cache_hint") ? 3 : 2);
  const Operand& data = d.operand(is_load ? 0 : 1);
  const Operand& address = d.operand(is_load ? 1 : 0);
  memory_form(d, address);
  i.bytes = static_cast<u8>(width(t));
  i.access = is_load ? Access::read : Access::write;
  const u32 expected = d.has(".v2") ? 2 : d.has(".v4") ? 4 : d.has(".v8") ? 8 : 1;
  const bool vector = data.kind == Operand::vector;
  i.count = static_cast<u8>(vector ? data.count : 1);
  if (i.count != expected) Decoder::reject("a vector of another length");
  unsigned bytes = 0;
  for (u32 k = 0; k < i.count; ++k) {
    const Operand& o = vector ? d.part(data, k) : data;
    unsigned n;
    if (o.kind == Operand::reg) {
      n = d.register_bytes(o.index);
      if (o.negated || n < width(t) || n == 1) Decoder::reject("a register that is too narrow");
      i.v[k] = d.register_slot(o.index);
    } else {
      n = std::max(2u, width(t));
      i.v[k] = is_load ? d.target(o, n) : d.source(o, n);
    }
    if (bytes && n != bytes) Decoder::reject("registers of different widths");
    bytes = n;
  }
  i.width = static_cast<u8>(bytes);
  Flavour f = is_load ? plain_load : plain_store;
  bool param = d.has(".param") || d.has(".param::func") || d.has(".param::entry");
  if (param) {
    const bool entry_parameter = d.is_entry && address.base && is_load && [&] {
      for (const auto& p : d.function.parameters)
        if (&p == address.base) return true;
      return false;
    }();
    if (address.has_register || !address.base) {
      // The address came from mov of a parameter: of the kernel, it is a device address; of a function, an offset in local memory.
      i.space = d.is_entry ? AccessSpace::global : AccessSpace::local;
    } else {
      f = entry_parameter ? parameter_load : is_load ? argument_load : argument_store;
      const size_t end = static_cast<size_t>(address.value) + size_t{i.bytes} * i.count;
      if (address.value < 0 || end > address.base->bytes) Decoder::reject("an access outside its parameter");
    }
    i.mix = entry_parameter ? MixClass::load_constant : MixClass::other;
    if (f != plain_load && f != plain_store) i.access = Access::none;
  } else {
    i.mix = mix_of(i.space, is_load);
  }
  const MixClass mix = i.mix;
  const bool word = is_load && i.space == AccessSpace::shared && i.base == AddressBase::register32 && i.count == 1 && i.bytes == 4 && bytes == 4 && !i.strong;
  if (word && config().mode == Mode::run) return finish(d, load_shared_word, mix);
  finish(d, bytes == 2 ? by_type<u16>(f, t) : bytes == 4 ? by_type<u32>(f, t) : bytes == 8 ? by_type<u64>(f, t) : nullptr, mix);
}
void ld(Decoder& d) { access(d, true); }
void st(Decoder& d) { access(d, false); }

void nothing(Warp&, const Instr&) {}
void ignored(Decoder& d) {
  // A hint to the caches: no effect on results.
  finish(d, nothing, MixClass::other);
}

#define SPACES "{.const|.global|.local|.param|.param::func|.param::entry|.shared|.shared::cta|.shared::cluster}"
#define SCOPES "{.cta|.cluster|.gpu|.sys}"
#define EVICTION "{.ca|.cg|.cs|.lu|.cv|.wb|.wt}{.L1::evict_normal|.L1::evict_unchanged|.L1::evict_first|.L1::evict_last|.L1::no_allocate}"
#define CACHING EVICTION "{.L2::evict_normal|.L2::evict_first|.L2::evict_last}{.L2::cache_hint}{.L2::64B|.L2::128B|.L2::256B}"
#define TYPES "(.b8|.u8|.s8|.b16|.u16|.s16|.b32|.u32|.s32|.b64|.u64|.s64|.f32|.f64)"
constexpr Row rows[] = {
    {"ld{.weak}" SPACES CACHING "{.v2|.v4}" TYPES, ld},
    {"ld.volatile" SPACES "{.v2|.v4}" TYPES, ld},
    {"ld(.relaxed|.acquire)" SCOPES SPACES CACHING "{.v2|.v4}" TYPES, ld},
    {"ld.mmio.relaxed.sys{.global}" TYPES, ld},
    {"ld{.global}{.ca|.cg|.cs}.nc{.L1::evict_normal|.L1::evict_unchanged|.L1::evict_first|.L1::evict_last|.L1::no_allocate}{.L2::evict_normal|.L2::evict_first|.L2::evict_last}{.L2::cache_hint}{.L2::64B|.L2::128B|.L2::256B}{.v2|.v4}" TYPES, ld},
    {"ldu{.global}{.v2|.v4}" TYPES, ld},
    {"st{.weak}" SPACES CACHING "{.v2|.v4}" TYPES, st},
    {"st.volatile" SPACES "{.v2|.v4}" TYPES, st},
    {"st(.relaxed|.release)" SCOPES SPACES CACHING "{.v2|.v4}" TYPES, st},
    {"st.mmio.relaxed.sys{.global}" TYPES, st},
    {"prefetch{.global|.local}(.L1|.L2)", ignored},
    {"prefetch.global(.L2::evict_last|.L2::evict_normal)", ignored},
    {"prefetchu.L1", ignored},
    {"applypriority{.global}.L2::evict_normal", ignored},
    {"discard{.global}.L2", ignored},
};
}  // namespace

std::span<const Row> memory_rows() { return rows; }

}  // namespace cudanalyst::isa
