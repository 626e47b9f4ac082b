// Barriers of a block: bar.sync, bar.arrive, bar.red, with or without a count.
#include "../check/check.hpp"
#include "core.hpp"

namespace cudanalyst {
namespace {

u32 arrived_threads(const Block& b, const Barrier& bar) {
  u32 total = 0;
  for (const Warp& w : b.warps) {
    const u32 lanes = bar.arrived[w.id];
    if (lanes) total += (w.live & ~lanes) == 0 ? 32 : static_cast<u32>(__builtin_popcount(lanes));
  }
  return total;
}

u32 threads_of(const Block& b, u32 expected) { return expected ? expected : (b.threads + 31) / 32 * 32; }

// Threads that wait for each other at one barrier with different counts.
void disagree(Warp& w, const Instr& i, u32 lane, const Barrier& bar, u32 expected) {
  const Block& b = *w.block;
  for (const Warp& other : b.warps) {
    if (!bar.arrived[other.id]) continue;
    const u32 l = static_cast<u32>(__builtin_ctz(bar.arrived[other.id]));
    sync_bad_barrier(w, i, lane,
                     "A barrier that others wait at for " + std::to_string(threads_of(b, bar.expected)) + " threads is reached with a count of " +
                         std::to_string(threads_of(b, expected)),
                     &b.context->program->code[other.barrier_pc[l]], b.number * b.threads + other.id * 32 + l);
    return;
  }
}

void finish(Block& b, u32 id) {
  Barrier& bar = b.barriers[id];
  const Program& p = *b.context->program;
  if (b.context->checks & synccheck) {
    for (Warp& w : b.warps)
      if (bar.arrived[w.id]) {
        sync_barrier_completed(b, id, p.code[w.barrier_pc[__builtin_ctz(bar.arrived[w.id])]]);
        break;
      }
  }
  if (b.context->checks & racecheck) {
    std::vector<u32> waiting = bar.arrived;
    for (size_t k = 0; k < bar.passing.size(); ++k) waiting[k] &= ~bar.passing[k];
    race_barrier(b, waiting, bar.expected == 0, bar.handed);
    bar.handed.reset();
    bar.passing.clear();
  }
  u32 total = 0;
  for (const u32 lanes : bar.arrived) total += static_cast<u32>(__builtin_popcount(lanes));
  for (Warp& w : b.warps) {
    const u32 lanes = bar.arrived[w.id];
    if (!lanes) continue;
    const u32 pc = w.barrier_pc[__builtin_ctz(lanes)];
    u32 odd = 0;
    for (u32 l = 0; l < 32; ++l) odd |= (lanes >> l & 1) & static_cast<u32>((w.barrier_id[l] != id) | (w.barrier_pc[l] != pc));
    if (!odd && p.code[pc].d == none) {
      w.blocked &= ~(lanes & ~w.waiting_sync);
      ++w.barriers_passed;
      continue;
    }
    for (u32 rest = bar.arrived[w.id] & w.blocked & ~w.waiting_sync; rest; rest &= rest - 1) {
      const u32 l = static_cast<u32>(__builtin_ctz(rest));
      if (w.barrier_id[l] != id) continue;
      w.blocked &= ~(1u << l);
      const Instr& i = p.code[w.barrier_pc[l]];
      if (i.d == none) continue;
      u8* target = w.frames[l]->registers + i.d;
      if (i.option == 1) reinterpret_cast<u32*>(target)[l] = bar.reduction;
      else target[l] = i.option == 2 ? bar.reduction == total : bar.reduction != 0;
    }
    if (bar.arrived[w.id]) ++w.barriers_passed;
  }
  std::fill(bar.arrived.begin(), bar.arrived.end(), 0);
  bar.active = false;
  bar.count = bar.reduction = 0;
}

}  // namespace

bool barrier_try_complete(Block& b, u32 id) {
  Barrier& bar = b.barriers[id];
  if (!bar.active) return false;
  if (bar.expected == 0 ? bar.count < b.live_threads : arrived_threads(b, bar) < bar.expected) return false;
  finish(b, id);
  return true;
}

void barrier_check_all(Block& b) {
  for (u32 id = 0; id < 16; ++id)
    if (b.barriers[id].active) barrier_try_complete(b, id);
}

void barrier_arrive(Warp& w, const Instr& i, u32 lanes, u32 id, u32 expected, bool wait) {
  Block& b = *w.block;
  const u32 first = static_cast<u32>(__builtin_ctz(lanes));
  if (id > 15 || expected % 32 != 0) {
    const std::string message = id > 15 ? "There are 16 barriers, 0 to 15; this is " + std::to_string(id)
                                        : "The thread count of a barrier must be a multiple of 32, not " + std::to_string(expected);
    if (b.context->checks & synccheck) sync_bad_barrier(w, i, first, message);
    fault(w, i, launch_failure, message, first);
    return;
  }
  Barrier& bar = b.barriers[id];
  if (!bar.active) {
    bar.active = true;
    bar.expected = expected;
    bar.arrived.assign(b.warps.size(), 0);
  } else if ((b.context->checks & synccheck) && threads_of(b, bar.expected) != threads_of(b, expected)) {
    disagree(w, i, first, bar, expected);
  }
  bar.arrived[w.id] |= lanes;
  bar.count += static_cast<u32>(__builtin_popcount(lanes));
  for (u32 l = 0; l < 32; ++l)
    if (lanes >> l & 1) w.barrier_id[l] = static_cast<u8>(id);
  if (wait) {
    w.blocked |= lanes;
  } else if (b.context->checks & racecheck) {
    bar.passing.resize(b.warps.size());
    bar.passing[w.id] |= lanes;
    race_arrive(w, lanes, bar.handed);
  }
  barrier_try_complete(b, id);
}

}  // namespace cudanalyst
