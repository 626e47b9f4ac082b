// What checks and profile see of an access, and the checks that need no ordering: initcheck, pending copies, synccheck.
#include <cstdio>

#include "../exec/access.hpp"
#include "../prof/profile.hpp"
#include "check.hpp"

namespace cudanalyst {
namespace {

const char* names[] = {"global", "shared", "local"};

std::string place_of(const Warp& w, AccessSpace space, u64 address) {
  if (space == AccessSpace::global) return memory::describe(address);
  return std::string(names[static_cast<int>(space)]) + "[" +
         std::to_string(space == AccessSpace::shared ? w.block->shared_bytes : w.block->local_stride) + " B] + " + std::to_string(address);
}

// Whose shared memory is accessed.
Block& owner_of(const Warp& w) { return w.context->owner ? *w.context->owner : *w.block; }

}  // namespace

namespace {

bool eights_of(const u64* address, Eights& e) {
  u32 low[32];
  u64 high = 0;
  for (int l = 0; l < 32; ++l) low[l] = static_cast<u32>(address[l]);
  for (int l = 0; l < 32; ++l) high |= (address[l] ^ address[0]) >> 32;
  if (high) return false;
  for (int g = 0; g < 4; ++g) {
    e.address[g] = address[8 * g];
    e.part[g] = pattern_of(load_eight(low + 8 * g));
    if (e.part[g] == Pattern::scattered) return false;
  }
  return true;
}

bool in_a_row(const u64* address, u64 size) {
  u64 apart = 0;
  for (u64 l = 1; l < 32; ++l) apart |= address[l] ^ (address[0] + l * size);
  return apart == 0;
}

}  // namespace

namespace {

// Pending copies and mbarriers in shared memory: rare, and looked for by address.
bool watched(const Warp& w, const Instr& i, AccessSpace space) {
  if (space != AccessSpace::shared || i.access == Access::none) return false;
  const Block& b = *w.block;
  return b.pending_total || ((w.context->checks & synccheck) && i.access != Access::read && sync_has_mbarriers(b));
}
void watch(Warp& w, const Instr& i, const u64* address) {
  if (w.block->pending_total) pending_access(w, i, address, UINT32_MAX);
  if ((w.context->checks & synccheck) && i.access != Access::read) sync_shared_store(w, i, address, UINT32_MAX, *w.block);
}

}  // namespace

void observe(Warp& w, const Instr& i, const u64* address, u32 lanes, AccessSpace space) {
  Context& c = *w.context;
  if (c.profile) return profile_access(w, i, address, lanes, space);
  if (lanes == UINT32_MAX && space != AccessSpace::local && !i.strong && !c.owner) {
    const u32 size = u32{i.bytes} * i.count;
    if (size != 4 && in_a_row(address, size)) return observe_row(w, i, address[0], space);
    Eights e;
    if (size == 4 && eights_of(address, e)) return observe_eights(w, i, e, space);
  }
  if (space == AccessSpace::shared && owner_of(w).pending_total && i.access != Access::none) pending_access(w, i, address, lanes);
  if (c.checks & initcheck) init_access(w, i, address, lanes, space);
  if ((c.checks & racecheck) && space != AccessSpace::local) race_access(w, i, address, lanes, space);
  if ((c.checks & synccheck) && i.access != Access::read) {
    sync_store(w, i, lanes);
    if (space == AccessSpace::shared) sync_shared_store(w, i, address, lanes, owner_of(w));
  }
}

void observe_eights(Warp& w, const Instr& i, const Eights& e, AccessSpace space) {
  Context& c = *w.context;
  if (c.profile || watched(w, i, space)) {
    if (c.profile && e.part[0] == Pattern::row && e.address[1] == e.address[0] + 32 && e.part[1] == Pattern::row &&
        e.address[2] == e.address[1] + 32 && e.part[2] == Pattern::row && e.address[3] == e.address[2] + 32 && e.part[3] == Pattern::row)
      return profile_row(w, i, e.address[0], space);
    u64 address[32];
    e.expand(address);
    if (c.profile) return profile_access(w, i, address, UINT32_MAX, space);
    watch(w, i, address);
  }
  if (c.checks & initcheck) init_eights(w, i, e, space);
  if (c.checks & racecheck) race_eights(w, i, e, space);
  if ((c.checks & synccheck) && i.access != Access::read) sync_store(w, i, UINT32_MAX);
}

void observe_row(Warp& w, const Instr& i, u64 first, AccessSpace space) {
  Context& c = *w.context;
  const u64 size = u64{i.bytes} * i.count;
  if (c.profile) return profile_row(w, i, first, space);
  if (watched(w, i, space)) {
    u64 address[32];
    for (u64 l = 0; l < 32; ++l) address[l] = first + l * size;
    watch(w, i, address);
  }
  if (c.checks & initcheck) init_row(w, i, first, space);
  if (c.checks & racecheck) race_row(w, i, first, space);
  if ((c.checks & synccheck) && i.access != Access::read) sync_store(w, i, UINT32_MAX);
}

namespace {

// One byte for each byte of memory: 1 where it has been written.
u8* shadow_of(const Warp& w, AccessSpace space) {
  return space == AccessSpace::global ? memory::layout().init - memory::layout().base : owner_of(w).shared_init.data();
}

constexpr u32 one = 0x01010101;
constexpr Eight ones = {one, one, one, one, one, one, one, one};

}  // namespace

void init_eights(Warp& w, const Instr& i, const Eights& e, AccessSpace space) {
  u8* shadow = shadow_of(w, space);
  if (i.access == Access::write) {
    for (int g = 0; g < 4; ++g) std::memcpy(shadow + e.address[g], &ones, e.part[g] == Pattern::row ? 32 : 4);
    return;
  }
  Eight wrong{};
  u32 odd = i.access == Access::atomic;
  for (int g = 0; g < 4; ++g) {
    if (e.part[g] == Pattern::row) {
      Eight words;
      std::memcpy(&words, shadow + e.address[g], 32);
      wrong |= words ^ ones;
    } else {
      u32 word;
      std::memcpy(&word, shadow + e.address[g], 4);
      odd |= word ^ one;
    }
  }
  if (odd == 0 && all_zero(wrong)) return;
  u64 address[32];
  e.expand(address);
  init_access(w, i, address, UINT32_MAX, space);
}

void init_row(Warp& w, const Instr& i, u64 first, AccessSpace space) {
  const u64 size = u64{i.bytes} * i.count;
  u8* shadow = shadow_of(w, space) + first;
  if (i.access == Access::write) {
    std::memset(shadow, 1, 32 * size);
    return;
  }
  Eight wrong{};
  for (u64 k = 0; k < size; ++k) {
    Eight words;
    std::memcpy(&words, shadow + 32 * k, 32);
    wrong |= words ^ ones;
  }
  if (i.access == Access::read && all_zero(wrong)) return;
  u64 address[32];
  for (u64 l = 0; l < 32; ++l) address[l] = first + l * size;
  init_access(w, i, address, UINT32_MAX, space);
}

void init_access(Warp& w, const Instr& i, const u64* address, u32 lanes, AccessSpace space) {
  const u32 size = u32{i.bytes} * i.count;
  Block& b = *w.block;
  u8* base = space == AccessSpace::local ? nullptr : shadow_of(w, space);
  const auto shadow = [&](u32 l) { return base ? base + address[l] : b.local_init + (u64{w.id} * 32 + l) * b.local_stride + address[l]; };
  if (i.access == Access::write) {
    for (u32 rest = lanes; rest; rest &= rest - 1) {
      const u32 l = static_cast<u32>(__builtin_ctz(rest));
      u8* s = shadow(l);
      if (size == 4) {
        const u32 ones = 0x01010101;
        std::memcpy(s, &ones, 4);
      } else {
        std::memset(s, 1, size);
      }
    }
    return;
  }
  for (u32 rest = lanes; rest; rest &= rest - 1) {
    const u32 l = static_cast<u32>(__builtin_ctz(rest));
    u8* s = shadow(l);
    if (size == 4) {
      u32 word;
      std::memcpy(&word, s, 4);
      if (word == 0x01010101) continue;
    }
    // Padding inside a local copy is no fault: there a part counts as initialised when any of its bytes is.
    bool missing = false;
    u64 at = address[l];
    for (u32 k = 0; k < size && !missing; k += i.bytes) {
      u32 set = 0;
      for (u32 n = 0; n < i.bytes; ++n) set += s[k + n];
      missing = space == AccessSpace::local ? set == 0 : set < i.bytes;
      if (missing) at = address[l] + k;
    }
    if (missing) {
      const char* name = names[static_cast<int>(space)];
      Finding f;
      f.check = "initcheck";
      f.kind = std::string("uninitialized_") + name + "_read";
      f.space = name;
      f.size = size;
      f.address = place_of(w, space, at);
      f.message = std::string("Read of ") + std::to_string(size) + " bytes of " + name + " memory at " + f.address + " that nothing has written" +
                  (i.access == Access::atomic ? " (by an atomic operation)" : "");
      report_finding(w, i, l, f);
    }
    if (i.access == Access::atomic) std::memset(s, 1, size);
  }
}

void pending_access(Warp& w, const Instr& i, const u64* address, u32 lanes) {
  const u32 size = u32{i.bytes} * i.count;
  for (u32 rest = lanes; rest; rest &= rest - 1) {
    const u32 l = static_cast<u32>(__builtin_ctz(rest));
    bool pending = false;
    for (u32 n = 0; n < size; ++n) pending |= owner_of(w).shared_pending[address[l] + n] != 0;
    if (!pending) continue;
    Finding f;
    f.check = w.context->checks & synccheck ? "synccheck" : "racecheck";
    f.kind = "missing_async_wait";
    f.space = "shared";
    f.size = size;
    f.address = place_of(w, AccessSpace::shared, address[l]);
    for (const Warp& other : owner_of(w).warps)
      for (const AsyncCopy& copy : other.pending)
        if (!f.other && address[l] < u64{copy.shared} + copy.bytes && copy.shared < address[l] + size) {
          f.other = copy.instr;
          f.other_access = "cp.async";
          f.other_thread = w.block->number * w.block->threads + other.id * 32 + copy.lane;
        }
    f.message = std::string(i.access == Access::read ? "Read" : "Write") + " of shared memory at " + f.address +
                " that an asynchronous copy has not finished with: wait for it first";
    report_finding(w, i, l, f);
  }
}

}  // namespace cudanalyst
