// racecheck: happens-before between the threads of a launch.
//
// Every thread has a clock. What a thread knows of others is kept in three parts: a floor for its block (everything that threads of the block
// did at an earlier clock), a floor for its warp, and a shared, immutable map with what came over other ways (named barriers, atomics).
// A barrier of the whole block sets all clocks to one value and makes it the floor, so most questions are one comparison.
#include "race.hpp"

#include <algorithm>

#include "order.hpp"

namespace cudanalyst {
namespace {

u64 warps_per_block(const Block& b) { return (b.threads + 31) / 32; }

void merge(Knowledge& into, const Knowledge& from) {
  for (const auto& [entity, floor] : from.floors) {
    u32& mine = into.floors[entity];
    mine = std::max(mine, floor);
  }
}

// Everything that the thread knows, itself included.
std::shared_ptr<Knowledge> everything(const Warp& w, u32 lane) {
  auto made = std::make_shared<Knowledge>();
  if (w.known[lane]) *made = *w.known[lane];
  const auto set = [&](u64 entity, u32 floor) {
    u32& mine = made->floors[entity];
    mine = std::max(mine, floor);
  };
  set(thread_kind | thread_id(w, lane), w.clock[lane] + 1);
  set(warp_kind | (w.block->number * warps_per_block(*w.block) + w.id), w.warp_floor[lane]);
  set(block_kind | w.block->number, w.block_floor[lane]);
  return made;
}

}  // namespace

void race_start_launch(LaunchState& l) {
  Race& r = race();
  r.launch = &l;
  if (r.clock > 0xf0000000u) r.clock = 1;  // would take billions of barriers
  r.floor = ++r.clock;
  l.clock_begin = r.floor;
  l.concurrent = order::concurrent();
  l.clock_floor = order::floor(r.floor);
  r.published.clear();
  race_join_cells();
}

void race_end_launch() { ++race().clock; }

void race_start_block(Block& b) {
  Race& r = race();
  const u32 start = ++r.clock;
  b.clock_base = start;
  b.knowledge = false;
  race_join_cells(b);
  for (Warp& w : b.warps) {
    w.together = true;
    for (u32 l = 0; l < 32; ++l) {
      w.clock[l] = start;
      w.block_floor[l] = w.warp_floor[l] = start;
      w.fence_clock[l] = w.cluster_clock[l] = 0;
      w.known[l].reset();
      w.fenced[l].reset();
      w.fenced_narrow[l].reset();
    }
  }
}

void race_arrive(Warp& w, u32 lanes, std::shared_ptr<Knowledge>& handed) {
  auto all = handed ? std::make_shared<Knowledge>(*handed) : std::make_shared<Knowledge>();
  for (u32 rest = lanes; rest; rest &= rest - 1) {
    const u32 l = static_cast<u32>(__builtin_ctz(rest));
    merge(*all, *everything(w, l));
    ++w.clock[l];  // what follows is not covered
    race().clock = std::max(race().clock, w.clock[l]);
  }
  w.together = false;
  handed = all;
  w.block->knowledge = true;
}

void race_barrier(Block& b, const std::vector<u32>& arrived, bool whole_block, const std::shared_ptr<Knowledge>& handed) {
  Race& r = race();
  u32 highest = 0;
  if (whole_block && !b.knowledge) {
    for (const Warp& w : b.warps)
      for (u32 l = 0; l < 32; ++l) highest = std::max(highest, w.all >> l & 1 ? w.clock[l] : 0);
    const u32 now = highest + 1;
    r.clock = std::max(r.clock, now);
    for (Warp& w : b.warps) {
      for (u32 l = 0; l < 32; ++l) w.clock[l] = w.block_floor[l] = w.warp_floor[l] = now;
      w.together = true;
    }
    return;
  }
  std::shared_ptr<Knowledge> merged, last;
  bool several = false, all_fenced = true;
  u32 fenced_before = UINT32_MAX;  // accesses with an earlier clock were fenced by their thread
  std::shared_ptr<Knowledge> fenced, last_fenced;
  for (Warp& w : b.warps)
    for (u32 rest = whole_block ? w.all : arrived[w.id]; rest; rest &= rest - 1) {
      const u32 l = static_cast<u32>(__builtin_ctz(rest));
      highest = std::max(highest, w.clock[l]);
      if (w.known[l] && w.known[l] != last) {
        last = w.known[l];
        if (!merged) merged = last;
        else {
          if (!several) merged = std::make_shared<Knowledge>(*merged);
          several = true;
          merge(*merged, *last);
        }
      }
      all_fenced &= w.fence_clock[l] == w.clock[l];
      fenced_before = std::min(fenced_before, w.fence_clock[l]);
      if (w.fenced[l] && w.fenced[l] != last_fenced) {
        last_fenced = w.fenced[l];
        if (!fenced) fenced = std::make_shared<Knowledge>(*last_fenced);
        else merge(*fenced, *last_fenced);
      }
    }
  const u32 now = highest + 1;
  r.clock = std::max(r.clock, now);
  if (!whole_block) {
    b.knowledge = true;
    // Those who take part know each other; the rest of the block is as before.
    merged = merged ? std::make_shared<Knowledge>(*merged) : std::make_shared<Knowledge>();
    if (handed) merge(*merged, *handed);
    for (Warp& w : b.warps) {
      const u32 lanes = arrived[w.id];
      if (!lanes) continue;
      const u64 warp = b.number * warps_per_block(b) + w.id;
      if ((w.all & ~lanes) == 0) merged->floors[warp_kind | warp] = std::max(merged->floors[warp_kind | warp], now);
      else
        for (u32 l = 0; l < 32; ++l)
          if (lanes >> l & 1) merged->floors[thread_kind | thread_id(w, l)] = now;
      // What each knew of its block and warp.
      for (u32 rest = lanes; rest; rest &= rest - 1) {
        const u32 l = static_cast<u32>(__builtin_ctz(rest));
        u32& block = merged->floors[block_kind | b.number];
        block = std::max(block, w.block_floor[l]);
        u32& own = merged->floors[warp_kind | warp];
        own = std::max(own, w.warp_floor[l]);
      }
    }
  }
  for (Warp& w : b.warps)
    for (u32 rest = whole_block ? w.all : arrived[w.id]; rest; rest &= rest - 1) {
      const u32 l = static_cast<u32>(__builtin_ctz(rest));
      w.together = false;
      w.clock[l] = now;
      if (whole_block) w.block_floor[l] = w.warp_floor[l] = now;
      w.known[l] = merged;
      if (fenced) w.fenced[l] = fenced;
      if (all_fenced && whole_block) {
        // Everybody fenced before the barrier: whoever signals after it signals for all.
        w.fence_clock[l] = now - 1;
      }
    }
  if (all_fenced && whole_block) {
    auto all = fenced ? std::make_shared<Knowledge>(*fenced) : std::make_shared<Knowledge>();
    all->floors[block_kind | b.number] = fenced_before;
    if (merged) merge(*all, *merged);
    for (Warp& w : b.warps)
      for (auto& f : w.fenced) f = all;
  }
}

// What lanes had fenced before they met is fenced for all of them: whoever signals then signals for all.
static void share_fenced(std::shared_ptr<Knowledge>* fenced, u32 lanes) {
  std::shared_ptr<Knowledge> all, last;
  bool several = false, missing = false;
  for (u32 rest = lanes; rest; rest &= rest - 1) {
    const std::shared_ptr<Knowledge>& one = fenced[__builtin_ctz(rest)];
    missing |= !one;
    if (!one || one == last) continue;
    last = one;
    if (!all) {
      all = one;
      continue;
    }
    if (!several) all = std::make_shared<Knowledge>(*all);
    several = true;
    merge(*all, *one);
  }
  if (!all || !(several || missing)) return;
  for (u32 rest = lanes; rest; rest &= rest - 1) fenced[__builtin_ctz(rest)] = all;
}

void race_warp_sync(Warp& w, u32 lanes) {
  if (w.block->knowledge) {
    share_fenced(w.fenced, lanes);
    share_fenced(w.fenced_narrow, lanes);
  }
  u32 highest = 0;
  bool uniform = true;
  const std::shared_ptr<Knowledge>& first = w.known[__builtin_ctz(lanes)];
  for (u32 rest = lanes; rest; rest &= rest - 1) {
    const u32 l = static_cast<u32>(__builtin_ctz(rest));
    highest = std::max(highest, w.clock[l]);
    uniform &= w.known[l] == first;
  }
  const u32 now = highest + 1;
  race().clock = std::max(race().clock, now);
  const bool whole = (w.live & ~lanes) == 0;
  std::shared_ptr<Knowledge> merged = first;
  if (!uniform || !whole) {
    w.block->knowledge = true;
    merged = first ? std::make_shared<Knowledge>(*first) : std::make_shared<Knowledge>();
    for (u32 rest = lanes; rest; rest &= rest - 1) {
      const u32 l = static_cast<u32>(__builtin_ctz(rest));
      if (w.known[l] && w.known[l] != first) merge(*merged, *w.known[l]);
      if (!whole) merged->floors[thread_kind | thread_id(w, l)] = now;
    }
  }
  w.together = lanes == UINT32_MAX;
  u32 block = 0, warp = 0;
  for (u32 l = 0; l < 32; ++l)
    if (lanes >> l & 1) block = std::max(block, w.block_floor[l]), warp = std::max(warp, w.warp_floor[l]);
  for (u32 l = 0; l < 32; ++l) {
    if (!(lanes >> l & 1)) continue;
    // A fence carries over to those who synchronise with the thread that made it.
    if (w.fence_clock[l] == w.clock[l]) w.fence_clock[l] = now;
    w.clock[l] = now;
    w.block_floor[l] = block;
    w.warp_floor[l] = whole ? now : warp;
    w.known[l] = merged;
  }
}

void race_fence(Warp& w, u32 lanes, bool narrow) {
  w.block->knowledge = true;
  w.together = false;
  for (u32 rest = lanes; rest; rest &= rest - 1) {
    const u32 l = static_cast<u32>(__builtin_ctz(rest));
    w.fenced_narrow[l] = everything(w, l);
    ++w.clock[l];  // what follows is not covered
    if (narrow) continue;
    w.fenced[l] = w.fenced_narrow[l];
    w.fence_clock[l] = w.clock[l];
  }
  race().clock = std::max(race().clock, w.clock[__builtin_ctz(lanes)]);
}

void race_cluster_arrive(Warp& w, u32 lanes, bool release) {
  Cluster& c = *w.block->cluster;
  if (!c.arriving) c.arriving = std::make_shared<Knowledge>();
  const Knowledge* last = nullptr;
  w.together = false;
  for (u32 rest = lanes; rest; rest &= rest - 1) {
    const u32 l = static_cast<u32>(__builtin_ctz(rest));
    const Knowledge* mine = release ? w.known[l].get() : w.fenced[l].get();
    if (mine && mine != last) merge(*c.arriving, *mine);
    last = mine;
    ++w.clock[l];  // what follows is not covered
    w.cluster_clock[l] = release ? w.clock[l] : 0;
    race().clock = std::max(race().clock, w.clock[l]);
  }
}

void race_cluster_complete(Cluster& c) {
  Knowledge& k = *c.arriving;
  const auto raise = [&](u64 entity, u32 floor) {
    u32& at = k.floors[entity];
    at = std::max(at, floor);
  };
  for (const Block* b : c.blocks) {
    const u32 clock = b->warps[0].cluster_clock[0];
    bool whole = true;
    for (const Warp& w : b->warps) {
      bool same = w.live == w.all;
      for (u32 l = 0; l < 32; ++l) same &= !(w.all >> l & 1) || w.cluster_clock[l] == w.cluster_clock[0];
      whole &= same && w.cluster_clock[0] == clock;
      if (same) raise(warp_kind | (b->number * warps_per_block(*b) + w.id), w.cluster_clock[0]);
      else
        for (u32 rest = w.live; rest; rest &= rest - 1) {
          const u32 l = static_cast<u32>(__builtin_ctz(rest));
          raise(thread_kind | thread_id(w, l), w.cluster_clock[l]);
        }
    }
    if (whole) raise(block_kind | b->number, clock);
    for (const Warp& w : b->warps)
      for (u32 rest = w.live; rest; rest &= rest - 1) {
        const u32 l = static_cast<u32>(__builtin_ctz(rest));
        if (!w.cluster_clock[l]) continue;
        raise(block_kind | b->number, w.block_floor[l]);
        raise(warp_kind | (b->number * warps_per_block(*b) + w.id), w.warp_floor[l]);
      }
  }
  c.passed = std::move(c.arriving);
  c.arriving.reset();
}

void race_cluster_wait(Warp& w, u32 lanes) {
  const std::shared_ptr<Knowledge>& all = w.block->cluster->passed;
  if (!all) return;
  w.block->knowledge = true;
  std::shared_ptr<Knowledge> before, merged;
  for (u32 rest = lanes; rest; rest &= rest - 1) {
    const u32 l = static_cast<u32>(__builtin_ctz(rest));
    if (!w.known[l]) {
      w.known[l] = all;
      continue;
    }
    if (!merged || before != w.known[l]) {
      before = w.known[l];
      merged = std::make_shared<Knowledge>(*before);
      merge(*merged, *all);
    }
    w.known[l] = merged;
  }
}

namespace {

void acquire_from(Warp& w, u32 lane, const Knowledge& from) {
  w.block->knowledge = true;
  auto known = w.known[lane] ? std::make_shared<Knowledge>(*w.known[lane]) : std::make_shared<Knowledge>();
  merge(*known, from);
  w.known[lane] = known;
}

// A chain of releases keeps what came before.
void release_to(std::shared_ptr<Knowledge>& to, const std::shared_ptr<Knowledge>& mine) {
  if (!mine || to == mine) return;
  if (to) {
    auto all = std::make_shared<Knowledge>(*mine);
    merge(*all, *to);
    to = all;
  } else {
    to = mine;
  }
}

}  // namespace

void race_synchronise(Warp& w, u32 lane, u64 key, bool release, bool acquire, bool full_release, bool narrow) {
  auto& published = race().published;
  const u64 block = w.block->number;
  if (acquire)
    if (const auto found = published.find(key); found != published.end()) {
      if (found->second.wide && !narrow) acquire_from(w, lane, *found->second.wide);
      if (const auto own = found->second.narrow.find(block); own != found->second.narrow.end()) acquire_from(w, lane, *own->second);
    }
  if (!release) return;
  const std::shared_ptr<Knowledge> all = full_release ? everything(w, lane) : w.fenced[lane];
  const std::shared_ptr<Knowledge>& own = full_release ? all : w.fenced_narrow[lane];
  if (all || own) {
    Published& p = published[key];
    if (!narrow) release_to(p.wide, all);
    release_to(p.narrow[block], own ? own : all);
  }
  if (full_release) {
    w.together = false;
    ++w.clock[lane];
    race().clock = std::max(race().clock, w.clock[lane]);
  }
}

void race_phase_completed(u64 key) {
  auto& published = race().published;
  if (const auto found = published.find(key); found != published.end()) {
    Published done = std::move(found->second);
    published.erase(found);
    published[key | 1] = std::move(done);
  }
}

}  // namespace cudanalyst
