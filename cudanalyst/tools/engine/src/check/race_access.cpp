// racecheck: what was done to each word of memory, and whether the next access is ordered behind it.
//
// Nearly all accesses are of whole warps to rows of words that were last touched before a barrier or by an earlier launch. They are answered
// eight words at a time by comparing clocks; only what is not certain there is looked at lane by lane.
#include <algorithm>
#include <array>

#include "race.hpp"

namespace cudanalyst {

// By thread of another block: the clock and pc of its last access.
struct RemoteAccesses {
  std::map<u32, std::pair<u32, u32>> last;
};

namespace {

// What is kept of four bytes. Cells lie eight by eight, each field of the eight side by side, so that eight lanes in a row are vectors;
// what a certain access needs comes first.
enum Field : u32 {
  write_clock,  // never old in a cell that is split
  read_clock,
  read_clock_2,
  read_thread,
  read_pcs,  // 16 bits each, plus strength in the top bit of each
  read_thread_2,
  write_thread,
  write_pc,  // pc in 24 bits, above it: 1 strong, 1 split
  fields
};
struct Cell {
  u32* at;
  u32 stride;
  u32& operator[](u32 field) const { return at[field * stride]; }
};
inline u32* group_at(u32* cells, u64 offset) { return cells + offset / 32 * 8 * fields; }
inline Cell cell_at(u32* cells, u64 offset) { return {group_at(cells, offset) + offset / 4 % 8, 8}; }
constexpr u32 strong_write = 1u << 24, split_cell = 1u << 25, narrow_write = 1u << 26, pc_mask = 0xffffff, split_clock = 0x7fffffff;
constexpr u32 strong_read = 0x8000, read_pc_mask = 0x7fff;
// In the top bits of a thread: lanes in a row had a half or a byte of the word each, beginning with this thread.
constexpr u32 by_halves = 1u << 30, by_bytes = 2u << 30;
using Signed = s32 __attribute__((vector_size(32)));

using Parts = std::array<std::array<u32, fields>, 4>;
using Splits = std::unordered_map<u32*, Parts>;  // by place of the cell
Splits& global_splits() {
  static Splits* const instance = new Splits;
  return *instance;
}

}  // namespace

struct SplitCells {
  Splits cells;
};

namespace {

struct View {
  Warp& w;
  const Instr& i;
  AccessSpace space;
  Splits* splits;
  u32* cells;
  const u8* host;
  u64 base;
  u32 launch_floor, first_thread, threads;
  u32 me;                          // thread of lane 0
  bool own;                        // global memory, or shared memory that only this block can reach
  bool quick;                      // clocks are small enough for signed comparisons, and for split_clock to be later than all
  bool plain;                      // what lanes know is in their floors
  bool no_chain;                   // nothing but barriers and launches orders threads so far
  const u64* addresses = nullptr;  // of the lanes, where they are looked at one by one

  // Accesses with a clock below this come before what the lane does, whoever made them.
  u32 certain(u32 lane) const { return !quick ? 0 : space == AccessSpace::shared && own ? w.block_floor[lane] : launch_floor; }
};

void report_race(const View& v, u32 lane, u64 address, const char* hazard, u32 other_thread, u32 other_clock, u32 other_pc, const char* other_access,
                 bool stale = false) {
  const Warp& w = v.w;
  const bool shared = v.space == AccessSpace::shared;
  Finding f;
  f.check = "racecheck";
  f.space = shared ? "shared" : "global";
  f.kind = f.space + "_race_" + hazard;
  f.size = u32{v.i.bytes} * v.i.count;
  f.address = shared ? "shared[" + std::to_string(w.block->shared_bytes) + " B] + " + std::to_string(address) : memory::describe(address);
  const LaunchState& l = *w.context->launch;
  const order::Operation* earlier = l.concurrent && other_clock < l.clock_begin ? order::operation_at(other_clock) : nullptr;
  const Program* program = earlier ? earlier->program : w.context->program;
  f.other = program && other_pc < program->code.size() ? &program->code[other_pc] : nullptr;
  f.other_program = program;
  f.other_access = other_access;
  const u64 per_block = w.block->warps.size() * 32;
  if (!earlier) f.other_thread = other_thread / per_block * w.block->threads + other_thread % per_block;
  const char* mine = v.i.access == Access::read ? "Read" : v.i.access == Access::write ? "Write" : "Atomic";
  f.message = std::string(mine) + " of " + f.space + " memory at " + f.address + " races with a" + (*other_access == 'a' ? "n " : " ") + other_access;
  if (stale) f.message += " in the same kernel: it goes through the read-only cache, which need not see that";
  else if (earlier) f.message += " by " + earlier->what + " in another stream: no event and no wait orders the two";
  else f.message += " by another thread: nothing orders the two";
  if (earlier && f.other) {
    const Place at = program->place(*f.other);
    if (at.line) f.message += " (" + at.file.substr(at.file.rfind('/') + 1) + ":" + std::to_string(at.line) + ")";
  } else if (f.other) {
    const Place at = w.context->program->place(*f.other);
    if (at.line) f.message += " (line " + std::to_string(at.line) + ")";
  }
  report_finding(v.w, v.i, lane, f);
}

// Lanes of one warp that talk through volatile shared memory rely on lockstep, which ended with Volta: __syncwarp() is missing.
inline bool relies_on_lockstep(const View& v, u32 me, u32 other, u32 other_pc) {
  if (!v.i.is_volatile || v.space != AccessSpace::shared || me / 32 != (other & thread_mask) / 32) return false;
  const auto& code = v.w.context->program->code;
  return other_pc < code.size() && code[other_pc].is_volatile;
}

// Two strong accesses do not race, unless one of them is for threads of its block alone and the other is by another block.
inline bool both_strong(const View& v, u32 me, u32 thread, bool other_strong, bool other_narrow, u32 other_pc) {
  if (!v.i.strong || !other_strong || relies_on_lockstep(v, me, thread, other_pc)) return false;
  if (v.space == AccessSpace::shared || !(v.i.narrow || other_narrow)) return true;
  return (thread & thread_mask) - v.first_thread < v.threads;
}

// Of a word that threads in a row shared, each of them must come before. Then `who` is the one that does not.
inline bool all_ordered(const View& v, u32 lane, u32 me, u32 thread, u32 clock, u32& who) {
  const u32 first = thread & thread_mask, several = thread >> 30 == 0 ? 1 : thread >> 30 == 1 ? 2 : 4;
  for (who = first; who < first + several; ++who)
    if (!ordered(v.w, lane, me, who, clock, v.launch_floor, v.first_thread, v.threads)) return false;
  return true;
}

const char* name_of_write(u32 pc) { return pc & strong_write ? "atomic or volatile write" : "write"; }

// Lanes that store the same value by one instruction: one of them counts.
bool lanes_agree(const View& v, u32 lane, u64 address, u32 who, Cell c, u32 wrote) {
  const Instr& i = v.i;
  if (i.access != Access::write || i.v[0] == none || i.count != 1 || (wrote & pc_mask) != i.pc || c[write_clock] != v.w.clock[lane]) return false;
  const u32 other = who - v.me;
  if (who / 32 != v.me / 32 || !v.addresses || v.addresses[other] != v.addresses[lane] || address - v.addresses[lane] >= i.bytes) return false;
  const u8* values = v.w.registers + i.v[0];
  return std::memcmp(values + size_t{other} * i.width, values + size_t{lane} * i.width, i.bytes) == 0;
}

void read_cell(const View& v, u32 lane, u32 me, Cell c, u64 address, bool strong) {
  Warp& w = v.w;
  const u32 wrote = c[write_pc];
  u32 who;
  const bool fine = both_strong(v, me, c[write_thread], wrote & strong_write, wrote & narrow_write, wrote & pc_mask);
  if (!fine && !all_ordered(v, lane, me, c[write_thread], c[write_clock], who))
    report_race(v, lane, address, "raw", who, c[write_clock], wrote & pc_mask, name_of_write(wrote));
  else if (v.i.read_only && c[write_clock] >= w.context->launch->clock_begin)
    report_race(v, lane, address, "raw", c[write_thread] & thread_mask, c[write_clock], wrote & pc_mask, name_of_write(wrote), true);
  // Two reads are kept: one that is not ordered before this one stays, so that a later write meets it.
  u32 slot = 0, slot_thread = read_thread, slot_clock = read_clock;
  if (c[read_thread] != me && !all_ordered(v, lane, me, c[read_thread], c[read_clock], who))
    slot = 1, slot_thread = read_thread_2, slot_clock = read_clock_2;
  // Who read before, in no particular order to others, did so still after an atomic read.
  const u32 kept = slot ? c[read_pcs] >> 16 : c[read_pcs] & 0xffff;
  if (strong && !(kept & strong_read) && c[slot_thread] == me && c[slot_clock] == w.clock[lane]) return;
  c[slot_thread] = me;
  c[slot_clock] = w.clock[lane];
  const u32 pc = std::min(v.i.pc, read_pc_mask) | (strong ? strong_read : 0);
  c[read_pcs] = slot ? (c[read_pcs] & 0xffff) | pc << 16 : (c[read_pcs] & 0xffff0000) | pc;
}

void write_cell(const View& v, u32 lane, u32 me, Cell c, u64 address, bool strong, bool same_value) {
  Warp& w = v.w;
  const u32 wrote = c[write_pc];
  u32 who;
  const bool fine = both_strong(v, me, c[write_thread], wrote & strong_write, wrote & narrow_write, wrote & pc_mask);
  if (!fine && !same_value && !all_ordered(v, lane, me, c[write_thread], c[write_clock], who) && !lanes_agree(v, lane, address, who, c, wrote))
    report_race(v, lane, address, "waw", who, c[write_clock], wrote & pc_mask, name_of_write(wrote));
  for (u32 slot = 0; slot < 2 && !same_value; ++slot) {
    const u32 pc = slot ? c[read_pcs] >> 16 : c[read_pcs] & 0xffff;
    const u32 thread = c[slot ? read_thread_2 : read_thread], clock = c[slot ? read_clock_2 : read_clock];
    if (both_strong(v, me, thread, pc & strong_read, false, pc & read_pc_mask)) continue;
    if (!all_ordered(v, lane, me, thread, clock, who)) {
      report_race(v, lane, address, "war", who, clock, pc & read_pc_mask, "read");
      break;
    }
  }
  // Nobody who is not ordered behind a plain write of this thread is so behind the atomic operation that follows.
  if (strong && !(wrote & strong_write) && c[write_thread] == me && c[write_clock] == w.clock[lane]) return;
  c[write_thread] = me;
  c[write_clock] = w.clock[lane];
  c[write_pc] = v.i.pc | (strong ? strong_write : 0) | (v.i.narrow && v.space != AccessSpace::shared ? narrow_write : 0);
}

// A word accessed by parts has four cells of its own.
Parts& parts_of(const View& v, Cell c) {
  auto& all = (*v.splits)[c.at];
  if (!(c[write_pc] & split_cell)) {
    for (u32 k = 0; k < 4; ++k) {
      for (u32 f = 0; f < fields; ++f) all[k][f] = c[f];
      for (const u32 f : {read_thread, read_thread_2, write_thread}) {
        u32& thread = all[k][f];
        if (thread >> 30) thread = (thread & thread_mask) + (thread >> 30 == 1 ? k / 2 : k);
      }
    }
    c[write_pc] |= split_cell;
    c[write_clock] = split_clock;
  }
  return all;
}

template <class F>
inline void for_cells(const View& v, u64 offset, u32 size, F f) {
  if (size >= 4) {
    for (u32 k = 0; k < size; k += 4) {
      const Cell c = cell_at(v.cells, offset + k);
      if (__builtin_expect(c[write_pc] & split_cell, 0))
        for (auto& part : parts_of(v, c)) f(Cell{part.data(), 1}, k);
      else f(c, k);
    }
    return;
  }
  auto& parts = parts_of(v, cell_at(v.cells, offset));
  for (u32 k = 0; k < size; ++k) f(Cell{parts[(offset + k) & 3].data(), 1}, k);
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

// Two reads of a cell such that no write can be ordered behind them without being ordered behind one more read as well.
inline bool saturated(const View& v, u32 lane, Cell c) {
  if (!v.no_chain || (c[read_pcs] & (strong_read << 16 | strong_read))) return false;
  const bool shared = v.space == AccessSpace::shared;
  const u32 floor = shared ? v.w.block_floor[lane] : v.launch_floor;
  if (c[read_clock] < floor || c[read_clock_2] < floor) return false;
  const u32 one = c[read_thread] & thread_mask, two = c[read_thread_2] & thread_mask;
  return shared ? v.own && one / 32 != two / 32 : (one > two ? one - two : two - one) >= v.threads;
}

// What nearly always is: certain, and noted. False, and nothing done, when the cell has to be looked at closely.
inline bool read_word(const View& v, u32 lane, u32 thread, Cell c) {
  const u32 certain = v.certain(lane);
  if (c[write_clock] >= certain) return false;
  if (c[read_clock] >= certain) return saturated(v, lane, c);
  c[read_thread] = thread;
  c[read_clock] = v.w.clock[lane];
  c[read_pcs] = (c[read_pcs] & 0xffff0000) | std::min(v.i.pc, read_pc_mask);
  return true;
}
inline bool write_word(const View& v, u32 lane, u32 thread, Cell c) {
  const u32 certain = v.certain(lane);
  if (c[write_clock] >= certain || c[read_clock] >= certain || c[read_clock_2] >= certain) return false;
  c[write_thread] = thread;
  c[write_clock] = v.w.clock[lane];
  c[write_pc] = v.i.pc;
  return true;
}
// Atomic operations go together in any order.
inline bool atomic_word(const View& v, u32 lane, u32 thread, Cell c) {
  const u32 certain = v.certain(lane), wrote = c[write_pc];
  if ((wrote & (split_cell | narrow_write)) || c[read_clock] >= certain || c[read_clock_2] >= certain) return false;
  if (!(wrote & strong_write) && c[write_clock] >= certain) return false;
  c[write_thread] = thread;
  c[write_clock] = v.w.clock[lane];
  c[write_pc] = v.i.pc | strong_write;
  return true;
}

// `size` bytes (at most a word, or whole words) of what the lane accesses at `place`.
void look_closely(const View& v, u32 lane, u64 address, u32 size, u64 place) {
  const u64 offset = address - v.base;
  const u32 me = v.me + lane;
  const bool strong = v.i.strong;
  if (v.i.access == Access::read) return for_cells(v, offset, size, [&](Cell c, u32 k) { read_cell(v, lane, me, c, address + k, strong); });
  const bool same = v.i.access == Access::write && stores_same(v.w, v.i, lane, v.host + place);
  for_cells(v, offset, size, [&](Cell c, u32 k) { write_cell(v, lane, me, c, address + k, strong, same); });
}

void lane_by_lane(const View& v, const u64* address, u32 lanes) {
  const Instr& i = v.i;
  const u32 size = u32{i.bytes} * i.count;
  const bool synchronises = i.strong && (i.release || !v.no_chain);
  const auto word = i.access == Access::read    ? (i.strong ? nullptr : read_word)
                    : i.access == Access::write ? (i.strong ? nullptr : write_word)
                                                : (i.strong && !i.is_volatile && !i.narrow && i.mix != MixClass::barrier ? atomic_word : nullptr);
  u64 previous = UINT64_MAX;
  for (u32 rest = lanes; rest; rest &= rest - 1) {
    const u32 l = static_cast<u32>(__builtin_ctz(rest));
    const u64 at = address[l];
    if (synchronises)
      race_synchronise(v.w, l, reinterpret_cast<u64>(v.host) + at, i.access != Access::read && i.mix != MixClass::barrier,
                       i.access != Access::write && i.mix != MixClass::barrier, i.release, i.narrow && v.space != AccessSpace::shared);
    if (i.access == Access::read) {
      // Of lanes that read the same word one after the other, the first and the last stand for all.
      const u32 after = rest & (rest - 1);
      if (at == previous && after && address[__builtin_ctz(after)] == at) continue;
      previous = at;
    }
    if (size >= 4 && word) {
      for (u32 k = 0; k < size; k += 4)
        if (!word(v, l, v.me + l, cell_at(v.cells, at + k - v.base))) look_closely(v, l, at + k, 4, at);
    } else {
      look_closely(v, l, at, size, at);
    }
  }
}

// Lanes that are at one clock and know the same: then eight cells are asked at once.
struct Together {
  u32 clock, block_floor, warp_floor, certain;
};
bool together(const View& v, Together& t) {
  Warp& w = v.w;
  if (!v.plain || !v.quick) return false;
  t = {w.clock[0], w.block_floor[0], w.warp_floor[0], v.certain(0)};
  if (w.together) return true;
  u32 differs = 0;
  for (int l = 0; l < 32; ++l) differs |= (w.clock[l] ^ t.clock) | (w.block_floor[l] ^ t.block_floor) | (w.warp_floor[l] ^ t.warp_floor);
  return w.together = differs == 0;
}

// All ones where true. Clocks are below 2^31 here, so that signed comparison serves.
inline Eight below(Eight a, u32 limit) { return reinterpret_cast<Eight>(reinterpret_cast<Signed>(a) < static_cast<s32>(limit)); }
inline bool all(Eight condition) { return all_zero(~condition); }

inline Eight ordered_eight(const View& v, const Together& t, Eight me, Eight thread, Eight clock) {
  const Eight own_block = reinterpret_cast<Eight>((thread & thread_mask) - v.first_thread < v.threads);
  const Eight own_warp = reinterpret_cast<Eight>(((thread ^ me) & (thread_mask & ~31u)) == 0u);
  return below(clock, v.launch_floor) | reinterpret_cast<Eight>(thread == me) |
         (own_block & (below(clock, t.block_floor) | (own_warp & below(clock, t.warp_floor))));
}

// saturated() of eight cells.
inline bool saturated_eight(const View& v, const Together& t, const u32* cells) {
  const auto field = [&](u32 k) { return load_eight(cells + 8 * k); };
  const bool shared = v.space == AccessSpace::shared;
  const u32 floor = shared ? t.block_floor : v.launch_floor;
  const Eight late = ~(below(field(read_clock), floor) | below(field(read_clock_2), floor));
  const Eight one = field(read_thread), two = field(read_thread_2);
  const Eight weak = reinterpret_cast<Eight>((field(read_pcs) & (strong_read << 16 | strong_read)) == 0u);
  if (shared) return v.own && all(late & weak & reinterpret_cast<Eight>(((one ^ two) & (thread_mask & ~31u)) != 0u));
  const Signed apart = reinterpret_cast<Signed>((one & thread_mask) - (two & thread_mask)), far = Signed{} + static_cast<s32>(v.threads);
  return all(late & weak & reinterpret_cast<Eight>((apart >= far) | (apart <= -far)));
}

// Eight threads, in order, read or write eight cells. False, and nothing done, when the cells have to be looked at one by one.
inline bool read_eight(const View& v, const Together& t, u32* cells, Eight me) {
  const auto field = [&](u32 k) { return load_eight(cells + 8 * k); };
  const u32 pc = std::min(v.i.pc, read_pc_mask);
  const Eight now = Eight{} + t.clock;
  const Eight wrote = field(write_clock), clock = field(read_clock);
  const bool wrote_before = all(below(wrote, t.certain));
  if (wrote_before && all(below(clock, t.certain))) {
    store_eight(cells + 8 * read_clock, now);
    store_eight(cells + 8 * read_thread, me);
    store_eight(cells + 8 * read_pcs, (field(read_pcs) & 0xffff0000u) | pc);
    return true;
  }
  if (wrote_before && saturated_eight(v, t, cells)) return true;
  const Eight thread = field(read_thread), thread_2 = field(read_thread_2), clock_2 = field(read_clock_2), pcs = field(read_pcs);
  if (!wrote_before && (v.i.read_only || !all(ordered_eight(v, t, me, field(write_thread), wrote)))) return false;
  const Eight before = ordered_eight(v, t, me, thread, clock);
  store_eight(cells + 8 * read_thread, (before & me) | (~before & thread));
  store_eight(cells + 8 * read_clock, (before & now) | (~before & clock));
  store_eight(cells + 8 * read_thread_2, (before & thread_2) | (~before & me));
  store_eight(cells + 8 * read_clock_2, (before & clock_2) | (~before & now));
  store_eight(cells + 8 * read_pcs, (before & ((pcs & 0xffff0000u) | pc)) | (~before & ((pcs & 0xffffu) | pc << 16)));
  return true;
}
inline bool write_eight(const View& v, const Together& t, u32* cells, Eight me) {
  const auto field = [&](u32 k) { return load_eight(cells + 8 * k); };
  const Eight wrote = field(write_clock), clock = field(read_clock), clock_2 = field(read_clock_2);
  if (!all(below(wrote, t.certain) & below(clock, t.certain) & below(clock_2, t.certain))) {
    const Eight thread = field(read_thread), thread_2 = field(read_thread_2), writer = field(write_thread);
    if (!all(ordered_eight(v, t, me, writer, wrote) & ordered_eight(v, t, me, thread, clock) & ordered_eight(v, t, me, thread_2, clock_2)))
      return false;
  }
  store_eight(cells + 8 * write_clock, Eight{} + t.clock);
  store_eight(cells + 8 * write_thread, me);
  store_eight(cells + 8 * write_pc, Eight{} + v.i.pc);
  return true;
}

// The two halves of a warp read the same eight words; true when that was all.
inline bool read_twice(const View& v, const Together& t, u32* cells, Eight me, Eight me_2) {
  const auto field = [&](u32 k) { return load_eight(cells + 8 * k); };
  if (!all(below(field(write_clock), t.certain))) return false;
  if (!all(below(field(read_clock), t.certain))) return saturated_eight(v, t, cells);
  const u32 pc = std::min(v.i.pc, read_pc_mask);
  const Eight now = Eight{} + t.clock;
  store_eight(cells + 8 * read_clock, now);
  store_eight(cells + 8 * read_clock_2, now);
  store_eight(cells + 8 * read_thread, me);
  store_eight(cells + 8 * read_thread_2, me_2);
  store_eight(cells + 8 * read_pcs, Eight{} + (pc | pc << 16));
  return true;
}

// Lanes from `first` on, each with `bytes` bytes, side by side from `address` on. Parts of words begin with a word.
void stretch(const View& v, const Together& t, u32 first, u32 lanes, u64 address, u32 bytes) {
  const bool reads = v.i.access == Access::read;
  const u32 per_cell = bytes >= 4 ? 1 : 4 / bytes, per_lane = bytes >= 4 ? bytes / 4 : 1;
  const u32 shift = static_cast<u32>(__builtin_ctz(per_lane)), cells = lanes * bytes / 4;
  const u32 start = (v.me + first) | (bytes == 1 ? by_bytes : bytes == 2 ? by_halves : 0);
  const u64 offset = address - v.base;
  const Eight along = (Eight{0, 1, 2, 3, 4, 5, 6, 7} >> shift) * per_cell;
  const auto one = [&](u32 k) {
    const u32 lane = first + (k >> shift) * per_cell;
    const Cell c = cell_at(v.cells, offset + 4 * k);
    const u32 thread = start + (k >> shift) * per_cell;
    if (reads ? read_word(v, lane, thread, c) : write_word(v, lane, thread, c)) return;
    if (per_cell == 1) return look_closely(v, lane, address + 4 * k, 4, address + u64{lane - first} * bytes);
    for (u32 n = 0; n < per_cell; ++n) {
      const u64 at = address + 4 * k + n * bytes;
      look_closely(v, lane + n, at, bytes, at);
    }
  };
  u32 k = 0;
  const u32 head = std::min(cells, static_cast<u32>(-(offset / 4) & 7));
  for (; k < head; ++k) one(k);
  for (; k + 8 <= cells; k += 8) {
    u32* group = group_at(v.cells, offset + 4 * k);
    const Eight me = along + (start + (k >> shift) * per_cell);
    if (!(reads ? read_eight(v, t, group, me) : write_eight(v, t, group, me)))
      for (u32 n = k; n < k + 8; ++n) one(n);
  }
  for (; k < cells; ++k) one(k);
}

// Lanes first..last read the same word.
inline void read_by_all(const View& v, const Together& t, u32 first, u32 last, u64 address) {
  const Cell c = cell_at(v.cells, address - v.base);
  if (c[write_clock] < t.certain) {
    if (c[read_clock] < t.certain) {
      const u32 pc = std::min(v.i.pc, read_pc_mask);
      c[read_clock] = c[read_clock_2] = t.clock;
      c[read_thread] = v.me + first;
      c[read_thread_2] = v.me + last;
      c[read_pcs] = pc | pc << 16;
      return;
    }
    if (saturated(v, first, c)) return;
  }
  look_closely(v, first, address, 4, address);
  look_closely(v, last, address, 4, address);
}

Block& owner_of(const Warp& w) { return w.context->owner ? *w.context->owner : *w.block; }

Splits& splits_of(Block& b) {
  if (!b.split) b.split = std::make_shared<SplitCells>();
  return b.split->cells;
}

View view_of(Warp& w, const Instr& i, AccessSpace space) {
  const bool shared = space == AccessSpace::shared;
  const memory::Layout& layout = memory::layout();
  Block& owner = owner_of(w);
  const u32 per_block = static_cast<u32>(w.block->warps.size() * 32), me = thread_id(w, 0);
  return {.w = w,
          .i = i,
          .space = space,
          .splits = shared ? &splits_of(owner) : &global_splits(),
          .cells = shared ? owner.shared_race.data() : layout.race,
          .host = shared ? owner.shared : reinterpret_cast<const u8*>(w.context->delta),
          .base = shared ? 0 : layout.base,
          .launch_floor = shared ? owner.clock_base : w.context->launch->clock_floor,
          .first_thread = me - w.id * 32,
          .threads = per_block,
          .me = me,
          .own = !shared || w.block->cluster->blocks.size() == 1,
          .quick = race().clock < split_clock,
          .plain = !w.block->knowledge && !w.context->launch->concurrent,
          .no_chain = !w.block->knowledge && race().published.empty() && !w.context->launch->concurrent};
}

void remember(const Warp& w, const Instr& i, u32 lanes, Block& owner) {
  if (!owner.remote) owner.remote = std::make_shared<RemoteAccesses>();
  for (u32 rest = lanes; rest; rest &= rest - 1) {
    const u32 l = static_cast<u32>(__builtin_ctz(rest));
    owner.remote->last[thread_id(w, l)] = {w.clock[l], i.pc};
  }
}

void join(Splits& splits) {
  for (auto& [cell, parts] : splits)
    for (const u32 f : {write_clock, write_pc}) cell[8 * f] = 0;
  splits.clear();
}

}  // namespace

void race_join_cells() { join(global_splits()); }
void race_join_cells(Block& b) {
  if (b.split) join(b.split->cells);
}

void race_access(Warp& w, const Instr& i, const u64* address, u32 lanes, AccessSpace space) {
  if (space == AccessSpace::shared && w.context->owner) remember(w, i, lanes, *w.context->owner);
  View v = view_of(w, i, space);
  v.addresses = address;
  lane_by_lane(v, address, lanes);
}

void race_row(Warp& w, const Instr& i, u64 first, AccessSpace space) {
  const u32 size = u32{i.bytes} * i.count;
  const View v = view_of(w, i, space);
  Together t;
  if (first % 4 == 0 && !i.strong && i.access != Access::atomic && together(v, t)) return stretch(v, t, 0, 32, first, size);
  u64 address[32];
  for (u64 l = 0; l < 32; ++l) address[l] = first + l * size;
  race_access(w, i, address, UINT32_MAX, space);
}

void race_eights(Warp& w, const Instr& i, const Eights& e, AccessSpace space) {
  const View v = view_of(w, i, space);
  Together t;
  const bool reads = i.access == Access::read;
  if (w.context->owner || i.access == Access::atomic || !together(v, t)) {
    u64 address[32];
    e.expand(address);
    return race_access(w, i, address, UINT32_MAX, space);
  }
  constexpr Eight along = {0, 1, 2, 3, 4, 5, 6, 7};
  u32 twice = 0;  // parts that two halves of the warp read, of which nothing is left to do
  if (reads && e.address[0] == e.address[2] && e.address[1] == e.address[3])
    for (u32 g = 0; g < 2; ++g) {
      const u64 offset = e.address[g] - v.base;
      if (e.part[g] == Pattern::row && e.part[g + 2] == Pattern::row && offset % 32 == 0 &&
          read_twice(v, t, group_at(v.cells, offset), along + (v.me + 8 * g), along + (v.me + 8 * g + 16)))
        twice |= 5u << g;
    }
  for (u32 g = 0; g < 4;) {
    u32 end = g + 1;
    if (twice >> g & 1) {
    } else if (e.part[g] == Pattern::row) {
      while (end < 4 && e.part[end] == Pattern::row && !(twice >> end & 1) && e.address[end] == e.address[g] + 32 * (end - g)) ++end;
      stretch(v, t, 8 * g, 8 * (end - g), e.address[g], 4);
    } else {
      while (end < 4 && e.part[end] == Pattern::same && e.address[end] == e.address[g]) ++end;
      if (reads) read_by_all(v, t, 8 * g, 8 * end - 1, e.address[g]);
      else
        for (u32 l = 8 * g; l < 8 * end; ++l) look_closely(v, l, e.address[g], 4, e.address[g]);
    }
    g = end;
  }
}

void race_host_access(u64 address, u64 bytes, bool writes) {
  const memory::Layout& layout = memory::layout();
  const u32 now = race().clock;
  bool told = false;
  const auto compare = [&](const char* hazard, u32 clock, u64 at) {
    if (told || order::before(clock)) return;
    told = true;
    const order::Operation *other = order::operation_at(clock), *own = order::operation_at(now);
    const std::string mine = own ? own->what : "A copy";
    report_host_finding(std::string("global_race_") + hazard, memory::describe(at),
                        (writes ? "A write of global memory at " : "A read of global memory at ") + memory::describe(at) + " by " + mine +
                            " races with " + (other ? other->what : "an operation") + " in another stream: no event and no wait orders the two",
                        "racecheck");
  };
  const auto one = [&](Cell c, u64 at) {
    compare(writes ? "waw" : "raw", c[write_clock], at);
    if (!writes) {
      const bool second = !order::before(c[read_clock]);
      c[second ? read_thread_2 : read_thread] = thread_mask;
      c[second ? read_clock_2 : read_clock] = now;
      c[read_pcs] = second ? c[read_pcs] | read_pc_mask << 16 : c[read_pcs] | read_pc_mask;
      return;
    }
    compare("war", c[read_clock], at);
    compare("war", c[read_clock_2], at);
    c[write_thread] = thread_mask;
    c[write_clock] = now;
    c[write_pc] = pc_mask;
  };
  for (u64 at = address / 4 * 4; at < address + bytes; at += 4) {
    const Cell c = cell_at(layout.race, at - layout.base);
    if (!(c[write_pc] & split_cell)) one(c, at);
  }
}

void race_async_write(Warp& w, const Instr& i, u32 lane, u32 offset, u32 bytes) {
  Instr as_write = i;
  as_write.access = Access::write;
  as_write.bytes = static_cast<u8>(bytes);
  const View v = view_of(w, as_write, AccessSpace::shared);
  for_cells(v, offset, bytes, [&](Cell c, u32 k) { write_cell(v, lane, thread_id(w, lane), c, offset + k, false, false); });
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

void race_start_cluster(const std::vector<Block*>& blocks) {
  for (Block* b : blocks) {
    race_start_block(*b);
    b->remote.reset();
  }
  // Accesses of the whole cluster to any of its shared memories are of this cluster.
  for (Block* b : blocks) b->clock_base = blocks.front()->clock_base;
}

}  // namespace cudanalyst
