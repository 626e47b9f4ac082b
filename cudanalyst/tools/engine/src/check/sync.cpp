// synccheck: barriers of the block, masks of warp operations, mbarriers.
#include <cstdio>
#include <map>

#include "check.hpp"

namespace cudanalyst {

// Threads that skipped a barrier and ended: the place of their last store, and how many barriers they had passed.
struct Skipped {
  u32 store_pc, passed;
  u64 thread;
};
// What is known of an mbarrier, by its offset in the shared memory of the block.
struct Mbarrier {
  bool live = false;
  const Instr* last = nullptr;  // that initialised or invalidated it
  u64 thread = 0;
};
struct SyncState {
  std::vector<Skipped> skipped;
  std::map<u32, Mbarrier> mbarriers;
  u32 live_mbarriers = 0;
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
  s.mbarriers.clear();
  s.live_mbarriers = 0;
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

void sync_bad_barrier(Warp& w, const Instr& i, u32 lane, const std::string& message, const Instr* other, u64 thread) {
  Finding f;
  f.check = "synccheck";
  f.kind = "invalid_barrier";
  f.message = message;
  f.other = other;
  f.other_thread = other ? thread : UINT64_MAX;
  f.other_access = "barrier";
  report_finding(w, i, lane, f);
}

namespace {

constexpr u64 most_arrivals = (u64{1} << 20) - 1;

std::string mbarrier_at(u32 offset) { return "The mbarrier at shared + " + std::to_string(offset); }

}  // namespace

void sync_mbarrier(Warp& w, const Instr& i, u32 lane, u64 at, MbarrierUse use, u64 count, const MbarrierState& before) {
  Block* b = w.block;
  for (Block* other : w.block->cluster->blocks)
    if (at - reinterpret_cast<u64>(other->shared) < other->shared_bytes) b = other;
  const u32 offset = static_cast<u32>(at - reinterpret_cast<u64>(b->shared));
  SyncState& s = state_of(*b);
  Mbarrier& m = s.mbarriers[offset];
  const auto bad = [&](const std::string& what) { sync_bad_barrier(w, i, lane, mbarrier_at(offset) + what, m.last, m.thread); };
  if (use == MbarrierUse::init) {
    if (m.live) bad(" is initialised again while it is in use: mbarrier.inval has to come first");
    if (count == 0 || count > most_arrivals) bad(" is initialised with a count of " + std::to_string(count) + ": 1 to 1048575 is allowed");
  } else if (!m.live) {
    bad(m.last ? " was invalidated and not initialised again" : " was not initialised");
  } else if (use == MbarrierUse::arrive && (count == 0 || count > before.pending)) {
    bad(" gets " + std::to_string(count) + " arrivals at once, and its phase waits for " + std::to_string(before.pending) +
        ": the count that it was initialised with is too small, or a thread arrives too often");
  } else if (use == MbarrierUse::test && count != before.phase && ((count + 1) & 7) != before.phase) {
    bad(" is waited for with the state of another phase than the present or the last");
  }
  if (use == MbarrierUse::init || use == MbarrierUse::inval) {
    s.live_mbarriers += (use == MbarrierUse::init) - static_cast<u32>(m.live);
    m = {use == MbarrierUse::init, &i, w.block->number * w.block->threads + w.id * 32 + lane};
  }
}

bool sync_has_mbarriers(const Block& b) { return b.sync->live_mbarriers != 0; }

void sync_shared_store(Warp& w, const Instr& i, const u64* address, u32 lanes, Block& owner) {
  SyncState& s = state_of(owner);
  if (!s.live_mbarriers || i.mix == MixClass::barrier) return;
  const u64 size = u64{i.bytes} * i.count;
  for (u32 rest = lanes; rest; rest &= rest - 1) {
    const u32 l = static_cast<u32>(__builtin_ctz(rest));
    auto it = s.mbarriers.lower_bound(static_cast<u32>(address[l] < 7 ? 0 : address[l] - 7));
    for (; it != s.mbarriers.end() && it->first < address[l] + size; ++it)
      if (it->second.live)
        sync_bad_barrier(w, i, l, mbarrier_at(it->first) + " is overwritten while it is in use: mbarrier.inval has to come first", it->second.last,
                         it->second.thread);
  }
}

}  // namespace cudanalyst
