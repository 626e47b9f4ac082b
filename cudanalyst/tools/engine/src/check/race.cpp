// racecheck: happens-before between the threads of a launch.
//
// Every thread has a clock. What a thread knows of others is kept in three parts: a floor for its block (everything that threads of the block
// did at an earlier clock), a floor for its warp, and a shared, immutable map with what came over other ways (named barriers, atomics).
// A barrier of the whole block sets all clocks to one value and makes it the floor, so most questions are one comparison.
#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "check.hpp"

namespace cudanalyst {

// Floors by entity: thread, warp of the grid, or block.
struct Knowledge {
  std::map<u64, u32> floors;
};

// By thread of another block: the clock and pc of its last access.
struct RemoteAccesses {
  std::map<u32, std::pair<u32, u32>> last;
};

namespace {

constexpr u64 thread_kind = 0, warp_kind = u64{1} << 62, block_kind = u64{2} << 62;

// What is kept of four bytes. Cells lie eight by eight, each field of the eight side by side, so that eight lanes in a row are vectors.
enum Field : u32 {
  write_thread,
  write_clock,
  write_pc,  // pc in 24 bits, above it: 1 strong, 1 split
  read_thread,
  read_thread_2,
  read_clock,
  read_clock_2,
  read_pcs,  // 16 bits each, plus strength in the top bit of each
  fields
};
struct Cell {
  u32* at;
  u32 stride;
  u32& operator[](u32 field) const { return at[field * stride]; }
};
inline Cell cell_at(u32* cells, u64 offset) { return {cells + offset / 32 * 8 * fields + offset / 4 % 8, 8}; }
using Parts = std::array<std::array<u32, fields>, 4>;
constexpr u32 strong_write = 1u << 24, split_cell = 1u << 25, pc_mask = 0xffffff;
using Signed = s32 __attribute__((vector_size(32)));
constexpr u32 strong_read = 0x8000, read_pc_mask = 0x7fff;

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
  std::unordered_map<const void*, Parts> bytes;  // cells that were accessed by parts, byte by byte
};
Race& race() {
  static auto* instance = new Race;
  return *instance;
}

u64 warps_per_block(const Block& b) { return (b.threads + 31) / 32; }
u32 thread_id(const Warp& w, u32 lane) { return static_cast<u32>(w.block->number * w.block->warps.size() * 32 + w.id * 32 + lane); }

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

bool knows_elsewhere(const Warp& w, u32 lane, u32 thread, u32 clock) {
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
  if (clock < launch_floor || thread == me) return true;
  if (thread - first_thread < threads) {
    if (clock < w.block_floor[lane]) return true;
    if (thread / 32 == me / 32 && clock < w.warp_floor[lane]) return true;
  }
  return knows_elsewhere(w, lane, thread, clock);
}

void report_race(Warp& w, const Instr& i, u32 lane, AccessSpace space, u64 address, const char* hazard, u32 other_thread, u32 other_pc,
                 const char* other_access) {
  const bool shared = space == AccessSpace::shared;
  Finding f;
  f.check = "racecheck";
  f.space = shared ? "shared" : "global";
  f.kind = f.space + "_race_" + hazard;
  f.size = u32{i.bytes} * i.count;
  f.address = shared ? "shared[" + std::to_string(w.block->shared_bytes) + " B] + " + std::to_string(address) : memory::describe(address);
  const auto& code = w.context->program->code;
  f.other = other_pc < code.size() ? &code[other_pc] : nullptr;
  f.other_access = other_access;
  const u64 per_block = w.block->warps.size() * 32;
  f.other_thread = other_thread / per_block * w.block->threads + other_thread % per_block;
  const char* mine = i.access == Access::read ? "Read" : i.access == Access::write ? "Write" : "Atomic";
  f.message = std::string(mine) + " of " + f.space + " memory at " + f.address + " races with a" + (*other_access == 'a' ? "n " : " ") +
              other_access + " by another thread: nothing orders the two";
  if (f.other) {
    const Place at = w.context->program->place(*f.other);
    if (at.line) f.message += " (line " + std::to_string(at.line) + ")";
  }
  report_finding(w, i, lane, f);
}

struct View {
  Warp& w;
  const Instr& i;
  AccessSpace space;
  u32 launch_floor, first_thread, threads;
};

// Lanes of one warp that talk through volatile shared memory rely on lockstep, which ended with Volta: __syncwarp() is missing.
inline bool relies_on_lockstep(const View& v, u32 me, u32 other, u32 other_pc) {
  if (!v.i.is_volatile || v.space != AccessSpace::shared || me / 32 != other / 32) return false;
  const auto& code = v.w.context->program->code;
  return other_pc < code.size() && code[other_pc].is_volatile;
}

inline void read_cell(const View& v, u32 lane, u32 me, Cell c, u64 address, bool strong) {
  Warp& w = v.w;
  const u32 wrote = c[write_pc];
  const bool both_strong = strong && (wrote & strong_write) && !relies_on_lockstep(v, me, c[write_thread], wrote & pc_mask);
  if (!both_strong && !ordered(w, lane, me, c[write_thread], c[write_clock], v.launch_floor, v.first_thread, v.threads))
    report_race(w, v.i, lane, v.space, address, "raw", c[write_thread], wrote & pc_mask, wrote & strong_write ? "atomic or volatile write" : "write");
  // Two reads are kept: one that is not ordered before this one stays, so that a later write meets it.
  u32 slot = 0;
  if (c[read_thread] != me && !ordered(w, lane, me, c[read_thread], c[read_clock], v.launch_floor, v.first_thread, v.threads)) slot = 1;
  c[read_thread + slot] = me;
  c[read_clock + slot] = w.clock[lane];
  const u32 pc = std::min(v.i.pc, read_pc_mask) | (strong ? strong_read : 0);
  c[read_pcs] = slot ? (c[read_pcs] & 0xffff) | pc << 16 : (c[read_pcs] & 0xffff0000) | pc;
}

inline void write_cell(const View& v, u32 lane, u32 me, Cell c, u64 address, bool strong, bool same_value) {
  Warp& w = v.w;
  const u32 wrote = c[write_pc];
  const bool both_strong = strong && (wrote & strong_write) && !relies_on_lockstep(v, me, c[write_thread], wrote & pc_mask);
  if (!both_strong && !same_value && !ordered(w, lane, me, c[write_thread], c[write_clock], v.launch_floor, v.first_thread, v.threads))
    report_race(w, v.i, lane, v.space, address, "waw", c[write_thread], wrote & pc_mask, wrote & strong_write ? "atomic or volatile write" : "write");
  for (u32 slot = 0; slot < 2; ++slot) {
    const u32 pc = slot ? c[read_pcs] >> 16 : c[read_pcs] & 0xffff;
    if (strong && (pc & strong_read) && !relies_on_lockstep(v, me, c[read_thread + slot], pc & read_pc_mask)) continue;
    if (same_value) continue;
    if (!ordered(w, lane, me, c[read_thread + slot], c[read_clock + slot], v.launch_floor, v.first_thread, v.threads)) {
      report_race(w, v.i, lane, v.space, address, "war", c[read_thread + slot], pc & read_pc_mask, "read");
      break;
    }
  }
  c[write_thread] = me;
  c[write_clock] = w.clock[lane];
  c[write_pc] = v.i.pc | (strong ? strong_write : 0) | (wrote & split_cell);
}

// A word accessed by parts has four cells of its own.
Parts& parts_of(Cell c) {
  auto& all = race().bytes[c.at];
  if (!(c[write_pc] & split_cell)) {
    for (auto& part : all)
      for (u32 k = 0; k < fields; ++k) part[k] = c[k];
    c[write_pc] |= split_cell;
  }
  return all;
}

template <class F>
inline void for_cells(u32* cells, u64 offset, u32 size, F f) {
  if (size >= 4) {
    for (u32 k = 0; k < size; k += 4) {
      const Cell c = cell_at(cells, offset + k);
      if (__builtin_expect(c[write_pc] & split_cell, 0))
        for (auto& part : parts_of(c)) f(Cell{part.data(), 1}, k);
      else f(c, k);
    }
    return;
  }
  auto& parts = parts_of(cell_at(cells, offset));
  for (u32 k = 0; k < size; ++k) f(Cell{parts[(offset + k) & 3].data(), 1}, k);
}

// Lanes that are at one clock and know the same: then eight lanes are asked at once, with the same answers.
struct Together {
  u32 clock, block_floor, warp_floor;
};
bool together(const Warp& w, Together& t) {
  t = {w.clock[0], w.block_floor[0], w.warp_floor[0]};
  if (w.block->knowledge) return false;
  u32 differs = 0;
  for (int l = 0; l < 32; ++l) differs |= (w.clock[l] ^ t.clock) | (w.block_floor[l] ^ t.block_floor) | (w.warp_floor[l] ^ t.warp_floor);
  return differs == 0;
}

// ordered() of eight cells: all ones where true. Clocks are below 2^31 here, so that signed comparison serves.
inline Eight below(Eight a, u32 limit) { return reinterpret_cast<Eight>(reinterpret_cast<Signed>(a) < static_cast<s32>(limit)); }
inline Eight ordered_eight(const View& v, const Together& t, Eight me, Eight thread, Eight clock) {
  const Eight own_block = reinterpret_cast<Eight>(thread - v.first_thread < v.threads);
  const Eight own_warp = reinterpret_cast<Eight>((thread >> 5) == (me >> 5));
  return below(clock, v.launch_floor) | reinterpret_cast<Eight>(thread == me) |
         (own_block & (below(clock, t.block_floor) | (own_warp & below(clock, t.warp_floor))));
}

// Eight lanes read or write eight cells side by side. False, and nothing done, when lane by lane has to look.
bool row_of_cells(const View& v, const Together& t, u32* cells, u32 first) {
  const Eight me = Eight{0, 1, 2, 3, 4, 5, 6, 7} + first;
  const auto field = [&](u32 k) { return load_eight(cells + 8 * k); };
  const Eight wrote = field(write_pc);
  const Eight fine = ordered_eight(v, t, me, field(write_thread), field(write_clock));
  if (!all_zero(~fine | (wrote & split_cell))) return false;
  const Eight thread = field(read_thread), clock = field(read_clock), thread_2 = field(read_thread_2), clock_2 = field(read_clock_2);
  const Eight before = ordered_eight(v, t, me, thread, clock);
  const Eight now = Eight{} + t.clock;
  if (v.i.access == Access::read) {
    const u32 pc = std::min(v.i.pc, read_pc_mask);
    const Eight pcs = field(read_pcs);
    store_eight(cells + 8 * read_thread, (before & me) | (~before & thread));
    store_eight(cells + 8 * read_clock, (before & now) | (~before & clock));
    store_eight(cells + 8 * read_thread_2, (before & thread_2) | (~before & me));
    store_eight(cells + 8 * read_clock_2, (before & clock_2) | (~before & now));
    store_eight(cells + 8 * read_pcs, (before & ((pcs & 0xffff0000u) | pc)) | (~before & ((pcs & 0xffffu) | pc << 16)));
    return true;
  }
  if (!all_zero(~(before & ordered_eight(v, t, me, thread_2, clock_2)))) return false;
  store_eight(cells + 8 * write_thread, me);
  store_eight(cells + 8 * write_clock, now);
  store_eight(cells + 8 * write_pc, Eight{} + v.i.pc);
  return true;
}

// What a store would leave in place is no conflict between writes.
bool stores_same(Warp& w, const Instr& i, u32 lane, const u8* place) {
  if (i.v[0] == none) return false;
  for (u32 k = 0; k < i.count; ++k) {
    const u8* value = w.registers + i.v[k] + size_t{lane} * i.width;
    if (std::memcmp(place + size_t{k} * i.bytes, value, i.bytes) != 0) return false;
  }
  return true;
}

void remember(const Warp& w, const Instr& i, u32 lanes, Block& owner) {
  if (!owner.remote) owner.remote = std::make_shared<RemoteAccesses>();
  for (u32 rest = lanes; rest; rest &= rest - 1) {
    const u32 l = static_cast<u32>(__builtin_ctz(rest));
    owner.remote->last[thread_id(w, l)] = {w.clock[l], i.pc};
  }
}

}  // namespace

void race_start_launch(LaunchState& l) {
  Race& r = race();
  r.launch = &l;
  if (r.clock > 0xf0000000u) r.clock = 1;  // would take billions of barriers
  r.floor = ++r.clock;
  l.clock_floor = r.floor;
  r.published.clear();
}

void race_end_launch() { ++race().clock; }

void race_start_block(Block& b) {
  Race& r = race();
  const u32 start = ++r.clock;
  b.clock_base = start;
  b.knowledge = false;
  for (Warp& w : b.warps)
    for (u32 l = 0; l < 32; ++l) {
      w.clock[l] = start;
      w.block_floor[l] = w.warp_floor[l] = start;
      w.fence_clock[l] = w.cluster_clock[l] = 0;
      w.known[l].reset();
      w.fenced[l].reset();
      w.fenced_narrow[l].reset();
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
    for (Warp& w : b.warps)
      for (u32 l = 0; l < 32; ++l) w.clock[l] = w.block_floor[l] = w.warp_floor[l] = now;
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

void race_warp_sync(Warp& w, u32 lanes) {
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

void race_start_cluster(const std::vector<Block*>& blocks) {
  for (Block* b : blocks) {
    race_start_block(*b);
    b->remote.reset();
  }
  // Accesses of the whole cluster to any of its shared memories are of this cluster.
  for (Block* b : blocks) b->clock_base = blocks.front()->clock_base;
}

void race_cluster_arrive(Warp& w, u32 lanes, bool release) {
  Cluster& c = *w.block->cluster;
  if (!c.arriving) c.arriving = std::make_shared<Knowledge>();
  const Knowledge* last = nullptr;
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

// The block's shared memory goes with its last thread: what others of the cluster did there must come before.
void race_block_end(Block& b) {
  if (!b.remote) return;
  const u32 per_block = static_cast<u32>(b.warps.size() * 32);
  for (const auto& [thread, access] : b.remote->last) {
    const auto [clock, pc] = access;
    bool before = false;
    for (const Warp& w : b.warps)
      for (u32 l = 0; l < 32 && !before; ++l)
        before = (w.all >> l & 1) && ordered(w, l, thread_id(w, l), thread, clock, b.clock_base, static_cast<u32>(b.number) * per_block, per_block);
    if (before) continue;
    for (Block* other : b.cluster->blocks) {
      if (thread / per_block != other->number) continue;
      Finding f;
      f.check = "racecheck";
      f.kind = "shared_race_exit";
      f.space = "shared";
      f.other_access = "exit";
      f.other_thread = b.number * b.threads;
      f.message = "Access to the shared memory of the block with rank " + std::to_string(b.rank) +
                  " of the cluster, which may have ended by then: a barrier of the cluster must come before its end";
      report_finding(other->warps[thread % per_block / 32], b.context->program->code[pc], thread % 32, f);
    }
  }
  b.remote.reset();
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

void race_access(Warp& w, const Instr& i, const u64* address, u32 lanes, AccessSpace space, const Pattern* pattern) {
  const bool shared = space == AccessSpace::shared;
  const memory::Layout& layout = memory::layout();
  Block& owner = w.context->owner ? *w.context->owner : *w.block;
  u32* cells = shared ? owner.shared_race.data() : layout.race;
  const u64 base = shared ? 0 : layout.base;
  const u32 size = u32{i.bytes} * i.count;
  const u32 per_block = static_cast<u32>(w.block->warps.size() * 32);
  const View v{w, i, space, shared ? owner.clock_base : w.context->launch->clock_floor, static_cast<u32>(w.block->number) * per_block, per_block};
  const u32 first = thread_id(w, 0);
  if (shared && &owner != w.block) remember(w, i, lanes, owner);
  const bool strong = i.strong;
  const u8* host = shared ? owner.shared : reinterpret_cast<const u8*>(w.context->delta);
  u64 previous = UINT64_MAX;
  const auto one_by_one = [&](u32 part) {
    for (u32 rest = part; rest; rest &= rest - 1) {
      const u32 l = static_cast<u32>(__builtin_ctz(rest));
      const u64 offset = address[l] - base;
      if (strong) {
        const u64 key = reinterpret_cast<u64>(host) + address[l];
        race_synchronise(w, l, key, i.access != Access::read && !(i.mix == MixClass::barrier),
                         i.access != Access::write && i.mix != MixClass::barrier, i.release, i.narrow && !shared);
      }
      if (i.access == Access::read) {
        // Of lanes that read the same word one after the other, the first and the last stand for all.
        const bool all_same = pattern && pattern[l / 8] == Pattern::same && l % 8 == 0;
        if (all_same) rest &= ~(0x7eu << l);  // up to the last of the part
        if (offset == previous) {
          if (all_same) continue;
          const u32 after = lanes & ~((2u << l) - 1);
          if (after && address[__builtin_ctz(after)] == address[l]) continue;
        }
        previous = offset;
        for_cells(cells, offset, size, [&](Cell c, u32 k) { read_cell(v, l, first + l, c, address[l] + k, strong); });
      } else {
        const bool same = i.access == Access::write && stores_same(w, i, l, host + address[l]);
        for_cells(cells, offset, size, [&](Cell c, u32 k) { write_cell(v, l, first + l, c, address[l] + k, strong, same); });
      }
    }
  };
  Together t;
  if (!pattern || race().clock >= 0x7fffffffu || !together(w, t)) return one_by_one(lanes);
  for (u32 l = 0; l < 32; l += 8) {
    const u64 offset = address[l] - base;
    if (pattern[l / 8] == Pattern::row && offset % 32 == 0 && row_of_cells(v, t, cells + offset / 32 * 8 * fields, first + l))
      previous = address[l + 7] - base;
    else one_by_one(0xffu << l);
  }
}

void race_async_write(Warp& w, const Instr& i, u32 lane, u32 offset, u32 bytes) {
  u32* cells = w.block->shared_race.data();
  const u32 per_block = static_cast<u32>(w.block->warps.size() * 32);
  Instr as_write = i;
  as_write.access = Access::write;
  as_write.bytes = static_cast<u8>(bytes);
  const View v{w, as_write, AccessSpace::shared, w.block->clock_base, static_cast<u32>(w.block->number) * per_block, per_block};
  for_cells(cells, offset, bytes, [&](Cell c, u32 k) { write_cell(v, lane, thread_id(w, lane), c, offset + k, false, false); });
}

}  // namespace cudanalyst
