#include "access.hpp"

#include <cstdio>

#include "../check/check.hpp"

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

void bad(Warp& w, const Instr& i, u32 lane, AccessSpace space, u64 address, bool misaligned, bool freed) {
  const u32 size = u32{i.bytes} * i.count;
  const std::string place = where(w, space, address);
  std::string kind = misaligned ? "misaligned_" : freed ? "use_after_free_" : "invalid_";
  std::string message = misaligned ? "Misaligned " : freed ? "Use after free: " : "Invalid ";
  kind += freed ? std::string(verb(i.access)) : std::string(space_name(space)) + "_" + verb(i.access);
  message += std::string(space_name(space)) + " " + verb(i.access) + " of " + std::to_string(size) + " bytes at " + place;
  if (misaligned) {
    message += ", which is not a multiple of " + std::to_string(size);
  } else if (space == AccessSpace::global) {
    if (const auto near = memory::nearest(address); near && !freed) {
      const u64 end = near->address + near->bytes;
      if (address >= end) message += ", " + std::to_string(address - end) + " bytes past the end of the nearest allocation";
      else if (address < near->address) message += ", " + std::to_string(near->address - address) + " bytes before the nearest allocation";
      else message += ", which reaches past the end of the allocation";
    } else if (!near) {
      message += ", where nothing is allocated";
    }
  } else if (space == AccessSpace::shared) {
    message += ", outside the " + std::to_string(w.block->shared_bytes) + " bytes of shared memory of the block";
  } else {
    message += ", outside the thread's local memory";
  }
  const Error code = misaligned ? misaligned_address : illegal_address;
  if (w.context->checks & memcheck) {
    Finding f;
    f.check = "memcheck";
    f.kind = kind;
    f.space = space_name(space);
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

}  // namespace

u32 resolve_slow(Warp& w, const Instr& i, u64* address, u32 lanes) {
  Context& c = *w.context;
  Block& b = *w.block;
  const u64 size = u64{i.bytes} * i.count;
  u64 host[32] = {}, seen[32];
  u32 in[3] = {};  // lanes by space: global, shared, local
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
      if (!(at - cached.address < cached.bytes)) cached = memory::live_bounds(at);
      if (cached.bytes < generation_bounds_size || at - cached.address > cached.bytes - size) {
        const auto found = memory::find(at);
        bad(w, i, l, space, at, false, found && !found->live);
        if (w.event) return 0;
        continue;
      }
      host[l] = at + c.delta;
    } else if (space == AccessSpace::shared) {
      if (at > b.shared_bytes || size > b.shared_bytes - at) {
        bad(w, i, l, space, at, false, false);
        if (w.event) return 0;
        continue;
      }
      host[l] = reinterpret_cast<u64>(b.shared) + at;
    } else {
      const u64 top = w.frame->local + w.frame->code->local_bytes;
      if (at > top || size > top - at) {
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
