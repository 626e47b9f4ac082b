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
  if ((c.checks & synccheck) && i.access != Access::read) sync_store(w, i, lanes);
}

void observe_words(Warp& w, const Instr& i, const u64* address, const Pattern* pattern, AccessSpace space) {
  Context& c = *w.context;
  if (c.profile) return profile_access(w, i, address, UINT32_MAX, space);
  if (space == AccessSpace::shared && w.block->pending_total) pending_access(w, i, address, UINT32_MAX);
  if (c.checks & initcheck) init_access(w, i, address, UINT32_MAX, space, pattern);
  if (c.checks & racecheck) race_access(w, i, address, UINT32_MAX, space, pattern);
  if ((c.checks & synccheck) && i.access != Access::read) sync_store(w, i, UINT32_MAX);
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

// Threads that skipped a barrier and ended: the place of their last store, and how many barriers they had passed.
struct Skipped {
  u32 store_pc, passed;
  u64 thread;
};
struct SyncState {
  std::vector<Skipped> skipped;
  std::vector<std::pair<const Instr*, Skipped>> suspects;  // barrier, and the store that those who wait there should not meet
};

namespace {

SyncState& state_of(Block& b) { return *b.sync; }

void divergent(Warp& w, const Instr& barrier, u32 lane, const Instr* other, u64 thread, const char* what) {
  Finding f;
  f.check = "synccheck";
  f.kind = "divergent_barrier";
  f.other = other;
  f.other_access = "skip";
  f.other_thread = thread;
  f.message = what;
  report_finding(w, barrier, lane, f);
}

}  // namespace

void sync_start_block(Block& b) {
  if (!b.sync) b.sync = std::make_shared<SyncState>();
  SyncState& s = state_of(b);
  s.skipped.clear();
  s.suspects.clear();
}

void sync_lanes_exit(Warp& w, u32 lanes) {
  SyncState& s = state_of(*w.block);
  for (u32 rest = lanes; rest; rest &= rest - 1) {
    const u32 l = static_cast<u32>(__builtin_ctz(rest));
    if (w.last_store[l] == none) continue;
    bool known = false;
    for (const Skipped& k : s.skipped)
      known |=
          k.store_pc == w.last_store[l] && k.passed == w.barriers_passed && k.thread / 32 == (w.block->number * w.block->threads + w.id * 32) / 32;
    if (!known) s.skipped.push_back({w.last_store[l], w.barriers_passed, w.block->number * w.block->threads + w.id * 32 + l});
  }
}

void sync_store(Warp& w, const Instr& i, u32 lanes) {
  for (u32 l = 0; l < 32; ++l) w.last_store[l] = lanes >> l & 1 ? i.pc : w.last_store[l];
  SyncState& s = state_of(*w.block);
  for (size_t k = 0; k < s.suspects.size(); ++k) {
    const auto [barrier, skipped] = s.suspects[k];
    if (skipped.store_pc != i.pc) continue;
    divergent(w, *barrier, static_cast<u32>(__builtin_ctz(lanes)), &i, skipped.thread,
              "Divergent barrier: some threads of the block wait here, others skip it and go on behind it");
    s.suspects.erase(s.suspects.begin() + static_cast<long>(k));
    return;
  }
}

void sync_barrier_completed(Block& b, u32 id, const Instr&) {
  Barrier& bar = b.barriers[id];
  SyncState& s = state_of(b);
  const auto& code = b.context->program->code;
  for (Warp& w : b.warps) {
    const u32 lanes = bar.arrived[w.id];
    if (!lanes) continue;
    const u32 first = static_cast<u32>(__builtin_ctz(lanes));
    const Instr& at = code[w.barrier_pc[first]];
    // Lanes of a warp at different barriers.
    for (u32 rest = lanes; rest; rest &= rest - 1) {
      const u32 l = static_cast<u32>(__builtin_ctz(rest));
      if (w.barrier_pc[l] != w.barrier_pc[first]) {
        divergent(w, at, first, &code[w.barrier_pc[l]], b.number * b.threads + w.id * 32 + l,
                  "Divergent barrier: threads of one warp wait at different barriers, as if they were one");
        break;
      }
    }
    if (bar.expected == 0) {
      for (const Skipped& k : s.skipped) {
        if (k.passed > w.barriers_passed) continue;
        const u64 thread = k.thread - b.number * b.threads;
        if (thread / 32 == w.id && k.passed == w.barriers_passed)
          divergent(w, at, first, &code[k.store_pc], k.thread,
                    "Divergent barrier: some threads of the warp wait here, others skip it, go on and end");
        else if (k.passed == w.barriers_passed) {
          bool known = false;
          for (const auto& [barrier, suspect] : s.suspects) known |= barrier == &at && suspect.store_pc == k.store_pc;
          if (!known) s.suspects.push_back({&at, k});
        }
      }
    }
    for (u32 l = 0; l < 32; ++l)
      if (lanes >> l & 1) w.last_store[l] = none;
  }
}

void sync_bad_mask(Warp& w, const Instr& i, u32 lane, u32 mask, u32 bad, const char* why) {
  char text[160];
  std::snprintf(text, sizeof text, "Warp operation with the mask 0x%08x: %s (lanes 0x%08x)", mask, why, bad);
  Finding f;
  f.check = "synccheck";
  f.kind = "invalid_warp_mask";
  f.message = text;
  report_finding(w, i, lane, f);
}

}  // namespace cudanalyst
