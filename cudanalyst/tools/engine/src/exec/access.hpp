// From lane addresses to bytes: every access goes through resolve().
#pragma once
#include "core.hpp"

namespace cudanalyst {

// Checks and profile; addresses are device addresses (global) or offsets (shared, local). Returns the lanes that may go on.
void observe(Warp& w, const Instr& i, const u64* address, u32 lanes, AccessSpace space);
u32 resolve_slow(Warp& w, const Instr& i, u64* address, u32 lanes);

inline void lane_addresses(Warp& w, const Instr& i, u64* address) {
  const u64 offset = static_cast<u64>(i.offset);
  if (i.base == AddressBase::register64) {
    const u64* a = reg<u64>(w, i.a);
    for (int l = 0; l < 32; ++l) address[l] = a[l] + offset;
  } else if (i.base == AddressBase::register32) {
    const u32* a = reg<u32>(w, i.a);
    for (int l = 0; l < 32; ++l) address[l] = a[l] + offset;
  } else {
    const u64 at = i.base == AddressBase::frame ? w.frame->local + offset : offset;
    for (int l = 0; l < 32; ++l) address[l] = at;
  }
}

// Replaces the addresses of the lanes by host addresses; lanes that are off get a harmless one. Returns the lanes that may access.
inline u32 resolve(Warp& w, const Instr& i, u64* address) {
  const u32 m = w.mask;
  const u64 size = u64{i.bytes} * i.count;
  if (m != UINT32_MAX) {
    const u64 safe = address[__builtin_ctz(m)];
    for (int l = 0; l < 32; ++l) address[l] = m >> l & 1 ? address[l] : safe;
  }
  u64 low, bytes, delta;
  const Context& c = *w.context;
  AccessSpace space = i.space;
  if (space == AccessSpace::generic) {
    const u64 at = address[__builtin_ctz(m)] - c.shared_window;
    if (at < memory::window_bytes) {
      low = c.shared_window;
      bytes = w.block->shared_bytes;
      delta = reinterpret_cast<u64>(w.block->shared) - c.shared_window;
      space = AccessSpace::shared;
    } else {
      low = c.bounds[i.cache].address;
      bytes = c.bounds[i.cache].bytes;
      delta = c.delta;
      space = AccessSpace::global;
    }
  } else if (space == AccessSpace::shared) {
    low = 0;
    bytes = w.block->shared_bytes;
    delta = reinterpret_cast<u64>(w.block->shared);
  } else if (space == AccessSpace::local) {
    return resolve_slow(w, i, address, m);
  } else {
    low = c.bounds[i.cache].address;
    bytes = c.bounds[i.cache].bytes;
    delta = c.delta;
    space = AccessSpace::global;
  }
  if (bytes < size) return resolve_slow(w, i, address, m);
  const u64 last = bytes - size;
  u64 outside = 0, bits = 0;
  for (int l = 0; l < 32; ++l) {
    outside |= static_cast<u64>(address[l] - low > last);
    bits |= address[l];
  }
  if (__builtin_expect((outside | (bits & (size - 1))) != 0, 0)) return resolve_slow(w, i, address, m);
  if (c.observing) {
    if (space == AccessSpace::shared && low) {
      u64 offset[32];
      for (int l = 0; l < 32; ++l) offset[l] = address[l] - low;
      observe(w, i, offset, m, space);
    } else {
      observe(w, i, address, m, space);
    }
  }
  for (int l = 0; l < 32; ++l) address[l] += delta;
  return m;
}

}  // namespace cudanalyst
