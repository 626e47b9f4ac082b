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

void observe(Warp& w, const Instr& i, const u64* address, u32 lanes, AccessSpace space) {
  Context& c = *w.context;
  if (c.profile) return profile_access(w, i, address, lanes, space);
  if (space == AccessSpace::shared && owner_of(w).pending_total && i.access != Access::none) pending_access(w, i, address, lanes);
  Pattern pattern[4];
  const bool words = lanes == UINT32_MAX && i.bytes == 4 && i.count == 1 && space != AccessSpace::local && !i.strong;
  if (words) {
    u32 low[32];
    for (int l = 0; l < 32; ++l) low[l] = static_cast<u32>(address[l]);
    u64 high = 0;
    for (int l = 0; l < 32; ++l) high |= (address[l] ^ address[0]) >> 32;
    for (int g = 0; g < 4; ++g) pattern[g] = high ? Pattern::scattered : pattern_of(load_eight(low + 8 * g));
  }
  if (c.checks & initcheck) init_access(w, i, address, lanes, space, words ? pattern : nullptr);
  if ((c.checks & racecheck) && space != AccessSpace::local) race_access(w, i, address, lanes, space, words ? pattern : nullptr);
  if ((c.checks & synccheck) && i.access != Access::read) {
    sync_store(w, i, lanes);
    if (space == AccessSpace::shared) sync_shared_store(w, i, address, lanes, owner_of(w));
  }
}

void observe_words(Warp& w, const Instr& i, const u64* address, const Pattern* pattern, AccessSpace space) {
  Context& c = *w.context;
  if (c.profile) return profile_access(w, i, address, UINT32_MAX, space);
  if (space == AccessSpace::shared && w.block->pending_total) pending_access(w, i, address, UINT32_MAX);
  if (c.checks & initcheck) init_access(w, i, address, UINT32_MAX, space, pattern);
  if (c.checks & racecheck) race_access(w, i, address, UINT32_MAX, space, pattern);
  if ((c.checks & synccheck) && i.access != Access::read) {
    sync_store(w, i, UINT32_MAX);
    if (space == AccessSpace::shared) sync_shared_store(w, i, address, UINT32_MAX, owner_of(w));
  }
}

namespace {

constexpr u32 one = 0x01010101;
constexpr Eight ones = {one, one, one, one, one, one, one, one};

// True when that was all: words in patterns, written, or read and all initialised.
bool init_words(u8* shadow, const Instr& i, const u64* address, const Pattern* pattern) {
  if (i.access == Access::write) {
    for (int g = 0; g < 4; ++g) {
      if (pattern[g] == Pattern::row) std::memcpy(shadow + address[8 * g], &ones, 32);
      else
        for (int l = 8 * g; l < 8 * g + 8; ++l) std::memcpy(shadow + address[l], &ones, 4);
    }
    return true;
  }
  if (i.access != Access::read) return false;
  Eight wrong{};
  u32 odd = 0;
  for (int g = 0; g < 4; ++g) {
    u32 word;
    if (pattern[g] == Pattern::row) {
      Eight words;
      std::memcpy(&words, shadow + address[8 * g], 32);
      wrong |= words ^ ones;
    } else {
      const int step = pattern[g] == Pattern::same ? 8 : 1;
      for (int l = 8 * g; l < 8 * g + 8; l += step) {
        std::memcpy(&word, shadow + address[l], 4);
        odd |= word ^ one;
      }
    }
  }
  return odd == 0 && all_zero(wrong);
}

}  // namespace

void init_access(Warp& w, const Instr& i, const u64* address, u32 lanes, AccessSpace space, const Pattern* pattern) {
  const u32 size = u32{i.bytes} * i.count;
  Block& b = *w.block;
  u8* base = space == AccessSpace::global   ? memory::layout().init - memory::layout().base
             : space == AccessSpace::shared ? owner_of(w).shared_init.data()
                                            : nullptr;
  if (pattern && init_words(base, i, address, pattern)) return;
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
