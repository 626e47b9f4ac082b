// Loads and stores.
#include "../exec/access.hpp"
#include "../exec/shape.hpp"
#include "lanes.hpp"

namespace cudanalyst::isa {

// Sets space, base, and ordering of a memory instruction from its modifiers.
void memory_form(Decoder& d, const Operand& address) {
  Instr& i = d.i;
  i.space = d.has(".global")                                                                        ? AccessSpace::global
            : d.has(".shared") || d.has(".shared::cta") || d.has(".shared::cluster")                ? AccessSpace::shared
            : d.has(".local") || d.has(".param") || d.has(".param::func") || d.has(".param::entry") ? AccessSpace::local
            : d.has(".const")                                                                       ? AccessSpace::constant
                                                                                                    : AccessSpace::generic;
  i.acquire = d.has(".acquire") || d.has(".acq_rel");
  i.release = d.has(".release") || d.has(".acq_rel");
  i.is_volatile = d.has(".volatile");
  i.narrow = d.has(".cta");
  i.read_only = d.has(".nc");
  i.strong = i.acquire || i.release || i.is_volatile || d.has(".relaxed") || d.has(".mmio");
  i.scope = d.has(".cta") ? Scope::block : d.has(".cluster") ? Scope::cluster : d.has(".sys") || i.is_volatile ? Scope::system : Scope::device;
  d.address(address);
  if (i.base == AddressBase::absolute && address.base) {
    const Space s = address.base->space;
    if (s == Space::shared && i.space == AccessSpace::generic) i.space = AccessSpace::shared;
  }
}

namespace {

// 128 bits.
struct Wide {
  u64 low, high;
  Wide() = default;
  explicit Wide(int) : low(0), high(0) {}
};

template <size_t bytes>
inline bool eight_in_a_row(const u64* at) {
  u64 apart = 0;
  for (u64 k = 1; k < 8; ++k) apart |= at[k] ^ (at[0] + k * bytes);
  return apart == 0;
}

template <class T, class R>
void load(Warp& w, const Instr& i) {
  if (const u8* row = resolve_row(w, i)) {
    const T* from = reinterpret_cast<const T*>(row);
    R* d = reg<R>(w, i.v[0]);
#pragma GCC ivdep
    for (int l = 0; l < 32; ++l) d[l] = static_cast<R>(from[l]);
    w.spinning |= i.strong;
    return;
  }
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
    for (int g = 0; g < 32; g += 8) {
      if (sizeof(T) == sizeof(R) && eight_in_a_row<sizeof(T)>(at + g)) std::memcpy(d + g, reinterpret_cast<const T*>(at[g]), 8 * sizeof(T));
      else
        for (int l = g; l < g + 8; ++l) d[l] = static_cast<R>(*reinterpret_cast<const T*>(at[l]));
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

template <class T, class R>
void store(Warp& w, const Instr& i) {
  if (u8* row = resolve_row(w, i)) {
    T* to = reinterpret_cast<T*>(row);
    const R* s = reg<R>(w, i.v[0]);
#pragma GCC ivdep
    for (int l = 0; l < 32; ++l) to[l] = static_cast<T>(s[l]);
    return;
  }
  u64 at[32];
  lane_addresses(w, i, at);
  const u32 m = resolve(w, i, at);
  if (!m) return;
  for (u32 j = 0; j < i.count; ++j) {
    const R* s = reg<R>(w, i.v[j]);
    if (m == UINT32_MAX)
      for (u32 g = 0; g < 32; g += 8) {
        if (sizeof(T) == sizeof(R) && i.count == 1 && eight_in_a_row<sizeof(T)>(at + g))
          std::memcpy(reinterpret_cast<T*>(at[g]), s + g, 8 * sizeof(T));
        else
          for (u32 l = g; l < g + 8; ++l) *reinterpret_cast<T*>(at[l] + j * sizeof(T)) = static_cast<T>(s[l]);
      }
    else
      for (u32 l = 0; l < 32; ++l)
        if (m >> l & 1) *reinterpret_cast<T*>(at[l] + j * sizeof(T)) = static_cast<T>(s[l]);
  }
}

// The most frequent accesses of all: one 32-bit word of shared memory by a 32-bit address whose shape is known.
template <bool leads>
inline bool within(Warp& w, const Instr& i, Shape& s) {
  if constexpr (leads) {
    if (w.mask == UINT32_MAX) take_shape(reg<u32>(w, i.a), s);
    else s.valid = false;
  }
  if (!s.valid || w.mask != UINT32_MAX) return false;
  const s64 low = s64{s.low} + i.offset, high = s64{s.high} + i.offset + 4;
  if (low < 0 || high > static_cast<s64>(w.block->shared_bytes) || ((s.bits | static_cast<u64>(i.offset)) & 3)) return false;
  if (w.context->observing) {
    const u32* a = reg<u32>(w, i.a);
    const u64 offset = static_cast<u64>(i.offset);
    if (s.scattered) {
      u64 at[32];
      for (int l = 0; l < 32; ++l) at[l] = a[l] + offset;
      observe(w, i, at, UINT32_MAX, AccessSpace::shared);
    } else {
      observe_eights(w, i, {{a[0] + offset, a[8] + offset, a[16] + offset, a[24] + offset}, {s.part[0], s.part[1], s.part[2], s.part[3]}},
                     AccessSpace::shared);
    }
  }
  return true;
}

template <bool leads>
void load_shaped(Warp& w, const Instr& i) {
  Shape& s = *reinterpret_cast<Shape*>(w.registers + i.shape);
  if (__builtin_expect(!within<leads>(w, i, s), 0)) return load<u32, u32>(w, i);
  const u32* a = reg<u32>(w, i.a);
  u32* d = reg<u32>(w, i.d);
  const u8* from = w.block->shared + i.offset;
  if (s.all == Pattern::row) {
    for (int g = 0; g < 4; ++g) std::memcpy(d + 8 * g, from + a[8 * g], 32);
    return;
  }
  if (s.all == Pattern::same) {
    // All reads before all writes: d may be a.
    u32 word[4];
    for (int g = 0; g < 4; ++g) std::memcpy(&word[g], from + a[8 * g], 4);
    for (int g = 0; g < 4; ++g) store_eight(d + 8 * g, Eight{} + word[g]);
    return;
  }
  u32 words[32];
  for (int l = 0; l < 32; ++l) words[l] = *reinterpret_cast<const u32*>(from + a[l]);
  std::memcpy(d, words, sizeof words);
}

template <bool leads>
void store_shaped(Warp& w, const Instr& i) {
  Shape& s = *reinterpret_cast<Shape*>(w.registers + i.shape);
  if (__builtin_expect(!within<leads>(w, i, s), 0)) return store<u32, u32>(w, i);
  const u32 *a = reg<u32>(w, i.a), *v = reg<u32>(w, i.v[0]);
  u8* to = w.block->shared + i.offset;
  if (s.all == Pattern::row)
    for (int g = 0; g < 4; ++g) std::memcpy(to + a[8 * g], v + 8 * g, 32);
  else
    for (int l = 0; l < 32; ++l) *reinterpret_cast<u32*>(to + a[l]) = v[l];
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
    case Type::u8:
    case Type::b8: return flavour<u8, R>(f);
    case Type::s8: return flavour<s8, R>(f);
    case Type::u16:
    case Type::b16:
    case Type::f16:
    case Type::bf16:
      if constexpr (sizeof(R) >= 2) return flavour<u16, R>(f);
      return nullptr;
    case Type::s16:
      if constexpr (sizeof(R) >= 2) return flavour<s16, R>(f);
      return nullptr;
    case Type::u32:
    case Type::b32:
    case Type::f32:
    case Type::f16x2:
    case Type::bf16x2:
      if constexpr (sizeof(R) >= 4) return flavour<u32, R>(f);
      return nullptr;
    case Type::s32:
      if constexpr (sizeof(R) >= 4) return flavour<s32, R>(f);
      return nullptr;
    case Type::u64:
    case Type::s64:
    case Type::b64:
    case Type::f64:
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
  if (i.count * width(t) > 16) Decoder::reject("more than 16 bytes");
  unsigned bytes = 0;  // of a register
  for (u32 k = 0; k < i.count && !bytes; ++k)
    if (const Operand& o = vector ? d.part(data, k) : data; o.kind == Operand::reg) {
      if (d.function.registers[o.index] == Type::pred) Decoder::reject("a predicate");
      bytes = d.register_bytes(o.index);
    }
  if (!bytes) bytes = std::max(2u, width(t));
  if (bytes < width(t)) Decoder::reject("a register that is too narrow");
  for (u32 k = 0; k < i.count; ++k) {
    const Operand& o = vector ? d.part(data, k) : data;
    i.v[k] = is_load ? d.target(o, bytes) : d.source(o, bytes);
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
  if (is_load && i.count == 1 && bytes == 4) i.d = i.v[0];
  finish(d,
         bytes == 1        ? by_type<u8>(f, t)
         : bytes == 2      ? by_type<u16>(f, t)
         : bytes == 4      ? by_type<u32>(f, t)
         : bytes == 8      ? by_type<u64>(f, t)
         : t == Type::b128 ? flavour<Wide, Wide>(f)
                           : nullptr,
         mix);
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
#define TYPES "(.b8|.u8|.s8|.b16|.u16|.s16|.b32|.u32|.s32|.b64|.u64|.s64|.f32|.f64|.b128)"
constexpr Row rows[] = {
    {"ld{.weak}" SPACES CACHING "{.v2|.v4}" TYPES, ld},
    {"ld.volatile" SPACES "{.L2::64B|.L2::128B|.L2::256B}{.v2|.v4}" TYPES, ld},
    {"ld(.relaxed|.acquire)" SCOPES SPACES CACHING "{.v2|.v4}" TYPES, ld},
    {"ld.mmio.relaxed.sys{.global}" TYPES, ld},
    {"ld{.global}{.ca|.cg|.cs}.nc{.L1::evict_normal|.L1::evict_unchanged|.L1::evict_first|.L1::evict_last|.L1::no_allocate}{.L2::evict_normal|.L2::"
     "evict_first|.L2::evict_last}{.L2::cache_hint}{.L2::64B|.L2::128B|.L2::256B}{.v2|.v4}" TYPES,
     ld},
    {"ldu{.global}{.v2|.v4}" TYPES, ld},
    {"st{.weak}" SPACES CACHING "{.v2|.v4}" TYPES, st},
    {"st.volatile" SPACES "{.v2|.v4}" TYPES, st},
    {"st(.relaxed|.release)" SCOPES SPACES CACHING "{.v2|.v4}" TYPES, st},
    {"st.mmio.relaxed.sys{.global}" TYPES, st},
    {"prefetch{.global|.local}(.L1|.L2)", ignored},
    {"prefetch.global(.L2::evict_last|.L2::evict_normal)", ignored},
    {"griddepcontrol(.wait|.launch_dependents)", ignored},
    {"prefetchu.L1", ignored},
    {"applypriority{.global}.L2::evict_normal", ignored},
    {"discard{.global}.L2", ignored},
};
}  // namespace

Execute shaped(const Instr& i, bool leads) {
  if (i.space != AccessSpace::shared || i.base != AddressBase::register32 || i.count != 1 || i.bytes != 4 || i.width != 4 || i.strong) return nullptr;
  if (i.mix == MixClass::load_shared && i.access == Access::read) return leads ? load_shaped<true> : load_shaped<false>;
  if (i.mix == MixClass::store_shared && i.access == Access::write) return leads ? store_shaped<true> : store_shaped<false>;
  return nullptr;
}

std::span<const Row> memory_rows() { return rows; }

}  // namespace cudanalyst::isa
