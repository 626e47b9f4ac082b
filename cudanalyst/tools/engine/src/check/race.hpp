// What the two halves of racecheck share: who knows what (race.cpp), and what was done to memory (race_access.cpp).
#pragma once
#include <map>
#include <unordered_map>

#include "check.hpp"
#include "order.hpp"

namespace cudanalyst {

// Floors by entity: thread, warp of the grid, or block.
struct Knowledge {
  std::map<u64, u32> floors;
};
constexpr u64 thread_kind = 0, warp_kind = u64{1} << 62, block_kind = u64{2} << 62;

// What releases left at a location: for everybody, and by block for threads of that block alone.
struct Published {
  std::shared_ptr<Knowledge> wide;
  std::map<u64, std::shared_ptr<Knowledge>> narrow;
};

struct Race {
  LaunchState* launch = nullptr;
  u32 clock = 1;                                 // highest clock in use
  u32 floor = 1;                                 // of the launch: earlier clocks are other launches
  std::unordered_map<u64, Published> published;  // by location
};
inline Race& race() {
  static Race* const instance = new Race;
  return *instance;
}

// Threads have 30 bits, so that a cell can say in two more how a word was shared out.
constexpr u32 thread_mask = 0x3fffffff;
inline u32 thread_id(const Warp& w, u32 lane) {
  return static_cast<u32>(w.block->number * w.block->warps.size() * 32 + w.id * 32 + lane) & thread_mask;
}

inline bool knows_elsewhere(const Warp& w, u32 lane, u32 thread, u32 clock) {
  const Knowledge* k = w.known[lane].get();
  if (!k) return false;
  const u64 per_block = w.block->warps.size() * 32;
  for (const u64 entity : {thread_kind | thread, warp_kind | thread / 32, block_kind | thread / per_block}) {
    const auto it = k->floors.find(entity);
    if (it != k->floors.end() && clock < it->second) return true;
  }
  return false;
}

// Whether the access (thread, clock) comes before what the lane does now. Block floors hold for threads of the own block only.
inline bool ordered(const Warp& w, u32 lane, u32 me, u32 thread, u32 clock, u32 launch_floor, u32 first_thread, u32 threads) {
  const LaunchState& l = *w.context->launch;
  if (l.concurrent && clock < l.clock_begin) return order::before(clock);
  if (clock < launch_floor || thread == me) return true;
  if (thread - first_thread < threads) {
    if (clock < w.block_floor[lane]) return true;
    if (thread / 32 == me / 32 && clock < w.warp_floor[lane]) return true;
  }
  return knows_elsewhere(w, lane, thread, clock);
}

// Cells that were accessed by parts of their words are forgotten: all that happened lies before the launch, or before the block.
void race_join_cells();
void race_join_cells(Block& b);

}  // namespace cudanalyst
