#include "access.hpp"

#include <cstdio>

#include "../check/check.hpp"
#include "../check/order.hpp"
#include "../isa/lanes.hpp"
#include "cluster.hpp"

namespace cudanalyst {
namespace {

const char* verb(Access a) { return a == Access::read ? "read" : a == Access::write ? "write" : "atomic"; }
const char* space_name(AccessSpace s) { return s == AccessSpace::shared ? "shared" : s == AccessSpace::local ? "local" : "global"; }

std::string where(const Warp& w, AccessSpace space, u64 address) {
  char text[96];
  if (space == AccessSpace::global) return memory::describe(address);
  const size_t size = space == AccessSpace::shared ? w.block->shared_bytes : w.block->local_stride;
  std::snprintf(text, sizeof text, "%s[%zu B] + %lld", space_name(space), size, static_cast<long long>(address));
  return text;
}

// Why nothing can be accessed at this address of global memory.
std::string why_not(const Context& c, u64 address, bool writes) {
  const auto near = memory::nearest(address);
  if (!near) return ", where nothing is allocated";
  const u64 end = near->address + near->bytes;
  if (address - c.local_window < memory::window_bytes)
    return ", an address of local memory: is it a pointer to a local variable of another thread or kernel?";
  if (address - c.shared_window < memory::window_bytes) return ", an address of shared memory: is it a pointer that another block or kernel kept?";
  if (!memory::is_device(reinterpret_cast<const void*>(address)))
    return address < 65536 ? ", a null pointer or an offset from one" : ", which is no device memory: is it a host pointer?";
  if (address == end) return ", just past the end of the allocation";
  if (address > end) return ", " + std::to_string(address - end) + " bytes past the end of the nearest allocation";
  if (address < near->address) return ", " + std::to_string(near->address - address) + " bytes before the nearest allocation";
  if (writes && near->kind == memory::Kind::constant_variable) return ": kernels may only read constant memory";
  return ", which reaches past the end of the allocation";
}

// What the access was meant for: constant memory lies among the rest here.
const char* meant(const Instr& i, AccessSpace space, u64 address) {
  if (space != AccessSpace::global) return space_name(space);
  const auto found = memory::find(address);
  return i.space == AccessSpace::constant || (found && found->kind == memory::Kind::constant_variable) ? "constant" : "global";
}

void bad(Warp& w, const Instr& i, u32 lane, AccessSpace space, u64 address, bool misaligned, bool freed, u32 rank = none) {
  const u32 size = u32{i.bytes} * i.count;
  std::string place = where(w, space, address);
  if (rank != none) place += " of the block with rank " + std::to_string(rank) + " of the cluster";
  const Block* owner = rank == none ? nullptr : block_of_rank(*w.block, rank);
  std::string kind = misaligned ? "misaligned_" : freed ? "use_after_free_" : "invalid_";
  std::string message = misaligned ? "Misaligned " : freed ? "Use after free: " : "Invalid ";
  const char* what = meant(i, space, address);
  kind += freed ? std::string(verb(i.access)) : std::string(what) + "_" + verb(i.access);
  message += std::string(what) + " " + verb(i.access) + " of " + std::to_string(size) + " bytes at " + place;
  if (misaligned) {
    message += ", which is not a multiple of " + std::to_string(size);
  } else if (space == AccessSpace::global) {
    if (!freed) message += why_not(*w.context, address, i.access != Access::read);
  } else if (rank != none && !owner) {
    message +=
        ", but the cluster has " + std::to_string(w.block->cluster->blocks.size()) + (w.block->cluster->blocks.size() == 1 ? " block" : " blocks");
  } else if (rank != none && !owner->live_threads) {
    message += ", which has ended: a block must stay until the others no longer use its shared memory";
  } else if (space == AccessSpace::shared) {
    message += ", outside the " + std::to_string(w.block->shared_bytes) + " bytes of shared memory of the block";
  } else {
    message += ", outside the thread's local memory";
  }
  // What lies in another block's part of the window, but in no shared memory, fails otherwise than what lies outside.
  const bool nobody = rank != none && address < u64{1} << 18;
  const Error code = misaligned ? misaligned_address : nobody ? launch_failure : illegal_address;
  if (w.context->checks & memcheck) {
    Finding f;
    f.check = "memcheck";
    f.kind = kind;
    f.space = what;
    f.size = size;
    f.address = place;
    f.message = message;
    report_finding(w, i, lane, f);
    int expected = 0;
    w.context->launch->error.compare_exchange_strong(expected, code);
    return;
  }
  fault(w, i, code, message, lane);
}

// Memory of cudaMallocAsync in a stream that has not waited for the allocation.
void too_early(Warp& w, const Instr& i, u32 lane, u64 address) {
  Finding f;
  f.check = "memcheck";
  f.kind = "use_before_allocation";
  f.space = "global";
  f.size = u32{i.bytes} * i.count;
  f.address = memory::describe(address);
  f.message = std::string(i.access == Access::read ? "Read" : "Write") + " at " + f.address +
              ", which cudaMallocAsync gives in another stream: let this stream wait for an event behind the allocation";
  report_finding(w, i, lane, f);
}

}  // namespace

void lane_addresses(Warp& w, const Instr& i, u64* address) {
  const u64 offset = static_cast<u64>(i.offset);
  if (i.base == AddressBase::register64) {
    const u64* a = reg<u64>(w, i.a);
    for (int l = 0; l < 32; ++l) address[l] = a[l] + offset;
  } else if (i.base == AddressBase::register32) {
    const u32* a = reg<u32>(w, i.a);  // the sum has 32 bits too: loops count a negative base up to zero
    for (int l = 0; l < 32; ++l) address[l] = static_cast<u32>(a[l] + offset);
  } else {
    const u64 at = i.base == AddressBase::frame ? w.frame->local + offset : offset;
    for (int l = 0; l < 32; ++l) address[l] = at;
  }
}

u32 resolve(Warp& w, const Instr& i, u64* address) {
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
  u64 outside = 0, bits = 0, apart = 0;
  const u64 first = address[0];
  const int shift = __builtin_ctzll(size);
  for (u64 l = 0; l < 32; ++l) apart |= address[l] ^ (first + (l << shift));
  if (apart == 0) {  // in a row, nearly always: both ends decide
    outside = static_cast<u64>((first - low > last) | (first + 31 * size - low > last) | (first + 31 * size < first));
    bits = first;
  } else {
    for (int l = 0; l < 32; ++l) {
      outside |= static_cast<u64>(address[l] - low > last);
      bits |= address[l];
    }
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

u8* resolve_row(Warp& w, const Instr& i) {
  if (w.mask != UINT32_MAX || i.count != 1) return nullptr;
  const int shift = __builtin_ctz(i.bytes);
  u64 first, apart = 0;
  if (i.base == AddressBase::register64) {
    const u64* a = reg<u64>(w, i.a);
    first = a[0];
    for (u64 l = 0; l < 32; ++l) apart |= a[l] ^ (first + (l << shift));
  } else if (i.base == AddressBase::register32) {
    const u32* a = reg<u32>(w, i.a);
    const u32 start = a[0];
    u32 differs = 0;
    for (u32 l = 0; l < 32; ++l) differs |= a[l] ^ (start + (l << shift));
    if (start > UINT32_MAX - 1024) return nullptr;
    first = start;
    apart = differs;
  } else {
    return nullptr;
  }
  if (apart) return nullptr;
  first += static_cast<u64>(i.offset);
  if (i.base == AddressBase::register32) first = static_cast<u32>(first);
  const Context& c = *w.context;
  u64 low = 0, bytes, host = reinterpret_cast<u64>(w.block->shared);
  AccessSpace space = i.space;
  if (space == AccessSpace::generic && first - c.shared_window < memory::window_bytes) low = c.shared_window, space = AccessSpace::shared;
  if (space == AccessSpace::local) return nullptr;
  if (space == AccessSpace::shared) {
    bytes = w.block->shared_bytes;
  } else {
    low = c.bounds[i.cache].address;
    bytes = c.bounds[i.cache].bytes;
    host = low + c.delta;
    space = AccessSpace::global;
  }
  const u64 size = u64{32} << shift, at = first - low;
  if (bytes < size || at > bytes - size || (first & (i.bytes - 1u))) return nullptr;
  if (c.observing) observe_row(w, i, space == AccessSpace::shared ? at : first, space);
  return reinterpret_cast<u8*>(host + at);
}

u32 resolve_slow(Warp& w, const Instr& i, u64* address, u32 lanes) {
  Context& c = *w.context;
  Block& b = *w.block;
  const u64 size = u64{i.bytes} * i.count;
  u64 host[32] = {}, seen[32];
  u32 in[3] = {};  // lanes by space: global, shared, local
  Block* owner[32];
  u32 remote = 0;
  u32 good = 0;
  const u64 generation_bounds_size = size;
  for (u32 l = 0; l < 32; ++l) {
    if (!(lanes >> l & 1)) continue;
    u64 at = address[l];
    AccessSpace space = i.space == AccessSpace::constant ? AccessSpace::global : i.space;
    if (space == AccessSpace::generic) {
      if (at - c.shared_window < memory::window_bytes) space = AccessSpace::shared, at -= c.shared_window;
      else if (at - c.local_window < memory::window_bytes) space = AccessSpace::local, at -= c.local_window;
      else space = AccessSpace::global;
    }
    seen[l] = at;
    const bool misaligned = (at & (size - 1)) != 0;
    if (space == AccessSpace::global) {
      memory::Bounds& cached = c.bounds[i.cache];
      if (!(at - cached.address < cached.bytes)) {
        cached = memory::live_bounds(at, i.access == Access::write || i.access == Access::atomic);
        if ((c.checks & memcheck) && cached.bytes && order::used_before_allocation(cached.address)) too_early(w, i, l, at);
      }
      if (cached.bytes < generation_bounds_size || at - cached.address > cached.bytes - size) {
        const auto found = memory::find(at);
        bad(w, i, l, space, at, false, found && !found->live);
        if (w.event) return 0;
        continue;
      }
      host[l] = at + c.delta;
    } else if (space == AccessSpace::shared) {
      const u32 rank = rank_of(b, at);
      owner[l] = block_of_rank(b, rank);
      at = seen[l] = rank == b.rank && !(at >> rank_shift) ? at : at & rank_offset;
      if (!owner[l] || !owner[l]->live_threads || at > b.shared_bytes || size > b.shared_bytes - at) {
        bad(w, i, l, space, at, false, false, owner[l] == &b ? none : rank);
        if (w.event) return 0;
        continue;
      }
      remote |= u32{owner[l] != &b} << l;
      host[l] = reinterpret_cast<u64>(owner[l]->shared) + at;
    } else {
      const u64 top = w.frame->local + w.frame->code->local_bytes;
      const u64 given = b.local_stride - w.dynamic_local[l];  // what alloca gave out lies at the end
      if ((at > top || size > top - at) && (at < given || at > b.local_stride - size)) {
        bad(w, i, l, space, at, false, false);
        if (w.event) return 0;
        continue;
      }
      host[l] = reinterpret_cast<u64>(b.local) + (u64{w.id} * 32 + l) * b.local_stride + at;
    }
    if (misaligned) {
      bad(w, i, l, space, at, true, false);
      if (w.event) return 0;
      continue;
    }
    good |= 1u << l;
    in[static_cast<int>(space)] |= 1u << l;
  }
  if (c.observing) {
    for (u32 rest = remote & good; rest;) {
      Block* other = owner[__builtin_ctz(rest)];
      u32 same = 0;
      for (u32 l = 0; l < 32; ++l)
        if (rest >> l & 1 && owner[l] == other) same |= 1u << l;
      rest &= ~same;
      in[static_cast<int>(AccessSpace::shared)] &= ~same;
      c.owner = other;
      observe(w, i, seen, same, AccessSpace::shared);
      c.owner = nullptr;
    }
    for (int s = 0; s < 3; ++s)
      if (in[s]) observe(w, i, seen, in[s], static_cast<AccessSpace>(s));
  }
  if (!good) {
    // Loads of lanes that failed leave zero, so that check mode goes on with something definite.
    return 0;
  }
  const u64 safe = host[__builtin_ctz(good)];
  for (u32 l = 0; l < 32; ++l) address[l] = good >> l & 1 ? host[l] : safe;
  return good;
}

}  // namespace cudanalyst

namespace cudanalyst::isa {
namespace {
template <class T>
inline void blend_lanes(T* to, const T* from, u32 mask) {
  for (u32 l = 0; l < 32; ++l) to[l] = mask >> l & 1 ? from[l] : to[l];
}
}  // namespace

void blend(u8* to, const u8* from, u32 mask) { blend_lanes(to, from, mask); }
void blend(u16* to, const u16* from, u32 mask) { blend_lanes(to, from, mask); }
void blend(u32* to, const u32* from, u32 mask) { blend_lanes(to, from, mask); }
void blend(u64* to, const u64* from, u32 mask) { blend_lanes(to, from, mask); }

}  // namespace cudanalyst::isa
