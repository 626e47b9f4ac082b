// Runs one warp: lane groups by lowest pc in the deepest frame, rotated where lanes spin.
#include <algorithm>

#include "../check/check.hpp"
#include "../prof/profile.hpp"
#include "core.hpp"

namespace cudanalyst {
namespace {

constexpr u64 spin_quantum = 256, rotated_quantum = 512, divergent_quantum = 20000;

// Predicates are bytes of 0 or 1.
inline u32 lane_mask(const u8* p) {
  u32 result = 0;
  for (int part = 0; part < 4; ++part) {
    u64 bytes;
    std::memcpy(&bytes, p + 8 * part, 8);
    result |= static_cast<u32>((bytes * 0x0102040810204080ull) >> 56) << (8 * part);
  }
  return result;
}

struct Group {
  Frame* frame;
  u32 pc, lanes, other;  // other: the next pc at which waiting lanes of the same frame join
};

Group pick(Warp& w, u32 ready) {
  Group g{};
  const u32 first = static_cast<u32>(__builtin_ctz(ready));
  u32 lead = first;
  if (ready == UINT32_MAX) {
    // Together, as nearly always?
    u64 differs = 0;
    for (u32 l = 1; l < 32; ++l)
      differs |= static_cast<u64>(w.pc[l] ^ w.pc[0]) | (reinterpret_cast<u64>(w.frames[l]) ^ reinterpret_cast<u64>(w.frames[0]));
    if (!differs) {
      w.cursor = 0;
      return {w.frames[0], w.pc[0], ready, none};
    }
  }
  if (w.rotate) {
    const u32 after = w.cursor >= 31 ? 0 : ready & ~((2u << w.cursor) - 1);
    lead = after ? static_cast<u32>(__builtin_ctz(after)) : first;
  } else {
    for (u32 rest = ready & (ready - 1); rest; rest &= rest - 1) {
      const u32 l = static_cast<u32>(__builtin_ctz(rest));
      if (w.frames[l]->depth > w.frames[lead]->depth || (w.frames[l]->depth == w.frames[lead]->depth && w.pc[l] < w.pc[lead])) lead = l;
    }
  }
  w.cursor = lead;
  g.frame = w.frames[lead];
  g.pc = w.pc[lead];
  g.other = none;
  for (u32 rest = ready; rest; rest &= rest - 1) {
    const u32 l = static_cast<u32>(__builtin_ctz(rest));
    if (w.frames[l] != g.frame) continue;
    if (w.pc[l] == g.pc) g.lanes |= 1u << l;
    else if (!w.rotate && w.pc[l] < g.other) g.other = w.pc[l];
  }
  return g;
}

inline void store_pc(Warp& w, u32 lanes, u32 pc) {
  for (u32 l = 0; l < 32; ++l) w.pc[l] = lanes >> l & 1 ? pc : w.pc[l];
}

void copy_bytes(Warp& w, u32 lanes, u64 to, u64 from, u32 bytes) {
  for (; lanes; lanes &= lanes - 1) {
    const u64 thread = u64{w.id} * 32 + static_cast<u32>(__builtin_ctz(lanes));
    u8* base = w.block->local + thread * w.block->local_stride;
    std::memcpy(base + to, base + from, bytes);
    if (w.block->local_init) std::memset(w.block->local_init + thread * w.block->local_stride + to, 1, bytes);
  }
}

// Lanes enter the callee; the frame is shared by lanes that come from the same call.
bool call(Warp& w, const Instr& i, u32 lanes, const Code* callee) {
  const CallSite& site = *static_cast<const CallSite*>(i.more);
  Frame* parent = w.frame;
  Frame* child = enter_frame(w, parent, i.pc, callee);
  u32 dynamic = 0;
  for (u32 l = 0; l < 32; ++l)
    if (lanes >> l & 1) dynamic = std::max(dynamic, child->dynamic[l] = w.dynamic_local[l]);
  if (child->local + callee->local_bytes + dynamic > w.block->local_stride) {
    fault(w, i, hardware_stack_error,
          "The stack of a thread is full (" + std::to_string(w.block->local_stride) + " bytes); the recursion is too deep",
          static_cast<u32>(__builtin_ctz(lanes)));
    return false;
  }
  if (site.arguments.size() != callee->parameter_offset.size()) {
    fault(w, i, invalid_pc, "A call through a pointer passes another number of arguments than the function takes",
          static_cast<u32>(__builtin_ctz(lanes)));
    return false;
  }
  child->lanes |= lanes;
  for (size_t k = 0; k < site.arguments.size(); ++k)
    copy_bytes(w, lanes, child->local + callee->parameter_offset[k], parent->local + site.arguments[k], callee->parameter_bytes[k]);
  for (u32 l = 0; l < 32; ++l)
    if (lanes >> l & 1) w.frames[l] = child, w.pc[l] = callee->entry;
  return true;
}

void call_indirect(Warp& w, const Instr& i, u32 lanes) {
  const u64* targets = reg<u64>(w, i.a);
  while (lanes && !w.event) {
    const u64 target = targets[__builtin_ctz(lanes)];
    u32 same = 0;
    for (u32 l = 0; l < 32; ++l)
      if (lanes >> l & 1 && targets[l] == target) same |= 1u << l;
    lanes &= ~same;
    const Program& p = *w.context->program;
    const auto found = target % 16 == 0 && target >= 0x1000 ? p.by_number.find(static_cast<u32>(target / 16 - 0x100)) : p.by_number.end();
    if (found == p.by_number.end()) {
      fault(w, i, invalid_pc, "A call through a pointer that holds no function", static_cast<u32>(__builtin_ctz(same)));
      return;
    }
    call(w, i, same, found->second);
  }
}

void leave(Warp& w, u32 lanes) {
  Frame* frame = w.frame;
  Frame* parent = frame->parent;
  const Instr& at = w.context->program->code[frame->call_pc];
  const CallSite& site = *static_cast<const CallSite*>(at.more);
  const size_t results = std::min(site.results.size(), frame->code->result_offset.size());
  for (size_t k = 0; k < results; ++k)
    copy_bytes(w, lanes, parent->local + site.results[k], frame->local + frame->code->result_offset[k], frame->code->result_bytes[k]);
  for (u32 l = 0; l < 32; ++l)
    if (lanes >> l & 1) w.frames[l] = parent, w.pc[l] = frame->call_pc + 1, w.dynamic_local[l] = frame->dynamic[l];
  leave_frame(w, frame, lanes);
}

u32 of_another_mask(const u32* member, u32 lanes, u32 mask) {
  u32 result = 0;
  for (u32 l = 0; l < 32; ++l) result |= static_cast<u32>((lanes >> l & 1) && member[l] != mask) << l;
  return result;
}

u32 mask_of(const Warp& w, u32 lane) {
  u32 mask;
  const Instr& i = w.context->program->code[w.pc[lane]];
  std::memcpy(&mask, w.frames[lane]->registers + i.e + size_t{lane} * 4, 4);
  return mask;
}

// Lanes that wait with this mask in the same operation elsewhere: a compiler may have copied it, for instance when it unrolled a loop.
u32 elsewhere(const Warp& w, const Instr& i, u32 mask) {
  u32 result = 0;
  for (u32 rest = i.apart ? w.waiting_sync & mask : 0; rest; rest &= rest - 1) {
    const u32 l = static_cast<u32>(__builtin_ctz(rest));
    if (w.pc[l] == i.pc && w.frames[l] == w.frame) continue;
    const Instr& other = w.context->program->code[w.pc[l]];
    if (other.apart && other.fn == i.fn && other.option == i.option && mask_of(w, l) == mask) result |= 1u << l;
  }
  return result;
}

// Executes an operation that lanes meet in from several places: with registers of its own, which each lane's are copied to and from.
void execute_apart(Warp& w, const Instr& i, u32 here, u32 others) {
  constexpr u32 a = 0, b = 256, c = 384, e = 512, d = 640, p = 768;
  alignas(64) u8 registers[p + 64] = {};
  const auto each = [&](const auto& copy) {
    for (u32 rest = here | others; rest; rest &= rest - 1) {
      const u32 l = static_cast<u32>(__builtin_ctz(rest));
      const bool is_here = here >> l & 1;
      copy(is_here ? i : w.context->program->code[w.pc[l]], is_here ? w.frame->registers : w.frames[l]->registers, l);
    }
  };
  const auto move = [](u8* to, const u8* from, u32 bytes, u32 lane) { std::memcpy(to + size_t{lane} * bytes, from + size_t{lane} * bytes, bytes); };
  each([&](const Instr& own, const u8* from, u32 l) {
    if (own.a != none) move(registers + a, from + own.a, own.width, l);
    if (own.width == 1) registers[a + l] ^= own.option2 ^ i.option2;  // a vote of what is not so
    if (own.b != none) move(registers + b, from + own.b, 4, l);
    if (own.c != none) move(registers + c, from + own.c, 4, l);
    move(registers + e, from + own.e, 4, l);
  });
  Instr apart = i;
  apart.a = a, apart.b = b, apart.c = c, apart.e = e, apart.d = d, apart.v[0] = p;
  u8* const before = w.registers;
  w.registers = registers;
  w.mask = here | others;
  apart.fn(w, apart);
  w.registers = before;
  each([&](const Instr& own, u8* to, u32 l) {
    if (own.d != none) move(to + own.d, registers + d, own.bytes, l);
    if (own.v[0] != none) move(to + own.v[0], registers + p, 1, l);
  });
}

// The lanes (of `lanes` and of those that wait here) whose whole mask is here.
u32 assemble(Warp& w, const Instr& i, u32 lanes) {
  u32 together = lanes;
  for (u32 rest = w.waiting_sync; rest; rest &= rest - 1) {
    const u32 l = static_cast<u32>(__builtin_ctz(rest));
    if (w.pc[l] == i.pc && w.frames[l] == w.frame) together |= 1u << l;
  }
  const u32* member = i.e == none ? nullptr : reg<u32>(w, i.e);
  u32 ready = 0;
  for (u32 rest = together; rest; rest &= rest - 1) {
    const u32 l = static_cast<u32>(__builtin_ctz(rest));
    const u32 need = member ? member[l] : UINT32_MAX;
    const u32 missing = need & w.live & ~together;
    if (missing == 0 || (member && (missing & ~elsewhere(w, i, need)) == 0)) ready |= 1u << l;
  }
  if (member && w.context->checks & synccheck) {
    for (u32 rest = ready; rest; rest &= rest - 1) {
      const u32 l = static_cast<u32>(__builtin_ctz(rest));
      if (!(member[l] >> l & 1)) sync_bad_mask(w, i, l, member[l], 1u << l, "the calling lane is not in its own mask");
      else if (const u32 gone = member[l] & w.all & ~w.live) sync_bad_mask(w, i, l, member[l], gone, "the mask names lanes that have exited");
      else if (const u32 other = of_another_mask(member, member[l] & together, member[l]))
        sync_bad_mask(w, i, l, member[l], other, "lanes that the mask names are here with another mask");
    }
  }
  return ready;
}

// Returns false when the group is over.
bool warp_sync(Warp& w, const Instr& i, u32 group, u32 lanes) {
  const bool simple = w.waiting_sync == 0 && lanes == w.live && (i.e == none || lanes == w.all);
  if (simple) {
    const u32* member = i.e == none ? nullptr : reg<u32>(w, i.e);
    u32 odd = 0;
    if (member && (w.context->checks & (synccheck | racecheck))) {
      const u32 all = member[__builtin_ctz(lanes)];
      for (u32 l = 0; l < 32; ++l) odd |= (lanes >> l & 1) && (!(member[l] >> l & 1) || member[l] != all);
      odd |= lanes & ~all;
    }
    if (!odd) {
      w.mask = lanes;
      i.fn(w, i);
      if (w.context->checks & racecheck) race_warp_sync(w, lanes);
      return true;
    }
  }
  const u32 ready = assemble(w, i, lanes);
  const u32 wait = lanes & ~ready;
  store_pc(w, group & ~lanes, i.pc + 1);
  store_pc(w, wait, i.pc);
  w.waiting_sync = (w.waiting_sync | wait) & ~ready;
  w.blocked = (w.blocked | wait) & ~ready;
  if (ready) {
    const u32* member = i.e == none ? nullptr : reg<u32>(w, i.e);
    // Groups with different masks execute one after the other.
    for (u32 rest = ready; rest;) {
      u32 same = rest;
      if (member) {
        const u32 mask = member[__builtin_ctz(rest)];
        same = 0;
        for (u32 l = 0; l < 32; ++l)
          if (rest >> l & 1 && member[l] == mask) same |= 1u << l;
      }
      const u32 others = member ? elsewhere(w, i, member[__builtin_ctz(rest)]) : 0;
      rest &= ~same;
      if (others) {
        execute_apart(w, i, same, others);
        w.waiting_sync &= ~others;
        w.blocked &= ~others;
        for (u32 l = 0; l < 32; ++l) w.pc[l] += others >> l & 1;
      } else {
        w.mask = same;
        i.fn(w, i);
      }
      if (w.context->checks & racecheck) race_warp_sync(w, same | others);
    }
    store_pc(w, ready, i.pc + 1);
  }
  return false;
}

}  // namespace

void lanes_exit(Warp& w, u32 lanes) {
  if (w.context->checks & synccheck) sync_lanes_exit(w, lanes);
  w.live &= ~lanes;
  w.block->live_threads -= static_cast<u32>(__builtin_popcount(lanes));
  w.blocked &= ~w.waiting_sync;
  w.waiting_sync = 0;
  if (!w.pending.empty())
    for (u32 rest = lanes; rest; rest &= rest - 1) async_complete(w, static_cast<u32>(__builtin_ctz(rest)), UINT32_MAX);
  barrier_check_all(*w.block);
  cluster_lanes_exit(w, lanes);
}

namespace {
// Cooperative groups trap where a grid was not launched so that it can wait for itself.
void trap(Warp& w, const Instr& i, u32 lane) {
  const LaunchState& l = *w.context->launch;
  bool waits = false;
  for (const auto& function : l.program->functions)
    for (const SpecialSlot& slot : function->specials) waits |= slot.what == Special::envreg1;
  const bool grid = waits && !l.launch.cooperative;
  const char* message = grid ? "The grid waits for itself, and was not launched with cudaLaunchCooperativeKernel" : "The kernel executed a trap";
  if (grid && (w.context->checks & synccheck)) sync_bad_barrier(w, i, lane, message);
  fault(w, i, launch_failure, message, lane);
}
}  // namespace

template <bool profiling>
WarpState run(Warp& w, u64 budget) {
  const Instr* code = w.context->program->code.data();
  u64 executed = 0;
  const auto leave_with = [&](WarpState state) {
    w.executed += executed;
    w.block->executed += executed;
    return state;
  };
  for (;;) {
    const u32 ready = w.live & ~w.blocked;
    if (!ready) return leave_with(w.live ? WarpState::blocked : WarpState::finished);
    if (executed >= budget || (w.spinning && executed >= spin_quantum)) return leave_with(WarpState::ready);
    const Group g = pick(w, ready);
    const bool alone = g.lanes == ready;
    const u64 limit = alone ? budget : executed + (w.rotate ? rotated_quantum : divergent_quantum);
    const u64 spin_limit = executed + spin_quantum;
    w.rotate = false;
    w.spinning = false;
    w.frame = g.frame;
    w.registers = g.frame->registers;
    u32 pc = g.pc;
    const u32 group = g.lanes;
    for (;;) {
      if constexpr (!profiling) {
        // A stretch that all lanes of the group just execute, up to where others join.
        if (const u32 run = std::min(code[pc].run, g.other - pc); run) {
          const Instr* at = code + pc;
          const Instr* const end = at + run;
          executed += run;
          do {
            w.mask = group;
            at->fn(w, *at);
            if (__builtin_expect(w.event, 0)) return leave_with(WarpState::stopped);
          } while (++at != end);
          pc += run;
          if (pc >= g.other) {
            store_pc(w, group, pc);
            break;
          }
        }
      }
      const Instr& i = code[pc];
      u32 m = group;
      if (i.predicate >= 0) {
        const u32 p = lane_mask(w.registers + i.predicate);
        m &= i.negated ? ~p : p;
      }
      w.mask = m;
      ++executed;
      if constexpr (profiling) profile_count(w, i, group, m);
      if (__builtin_expect(i.control == Control::normal, 1)) {
        if (m) {
          i.fn(w, i);
          if (__builtin_expect(w.event, 0)) return leave_with(WarpState::stopped);
        }
        if (++pc >= g.other) {
          store_pc(w, group, pc);
          break;
        }
        continue;
      }
      if (i.control == Control::branch) {
        if (m == group) pc = i.target;
        else if (m == 0) ++pc;
        else {
          store_pc(w, m, i.target);
          store_pc(w, group & ~m, pc + 1);
          break;
        }
        if (pc >= g.other) {
          store_pc(w, group, pc);
          break;
        }
        if (executed > limit || (w.spinning && executed > spin_limit)) {
          store_pc(w, group, pc);
          w.rotate = !alone;
          break;
        }
        continue;
      }
      if (!m) {
        if (++pc >= g.other) {
          store_pc(w, group, pc);
          break;
        }
        continue;
      }
      if (i.control == Control::warp_sync) {
        const bool on = warp_sync(w, i, group, m);
        if (w.event) return leave_with(WarpState::stopped);
        if (!on) break;
        if (m != group || ++pc >= g.other) {
          if (m != group) ++pc;
          store_pc(w, group, pc);
          break;
        }
        continue;
      }
      store_pc(w, group, pc + 1);
      switch (i.control) {
        case Control::barrier:
          for (u32 l = 0; l < 32; ++l)
            if (m >> l & 1) w.barrier_pc[l] = pc;
          i.fn(w, i);
          break;
        case Control::branch_table: {
          const auto& table = *static_cast<const std::vector<u32>*>(i.more);
          const u32* index = reg<u32>(w, i.a);
          for (u32 l = 0; l < 32; ++l)
            if (m >> l & 1) w.pc[l] = table[index[l] < table.size() ? index[l] : table.size() - 1];
          break;
        }
        case Control::call: call(w, i, m, static_cast<const Code*>(w.context->program->by_number.at(i.target))); break;
        case Control::call_indirect: call_indirect(w, i, m); break;
        case Control::ret:
          if (w.frame->parent) {
            leave(w, m);
            break;
          }
          [[fallthrough]];
        case Control::exit: lanes_exit(w, m); break;
        case Control::trap: trap(w, i, static_cast<u32>(__builtin_ctz(m))); break;
        case Control::yield:
          i.fn(w, i);
          w.spinning = true;
          w.rotate = !alone;
          break;
        default: break;
      }
      if (w.event) return leave_with(WarpState::stopped);
      break;
    }
  }
}

WarpState run_warp(Warp& w, u64 budget) { return w.context->profile ? run<true>(w, budget) : run<false>(w, budget); }

}  // namespace cudanalyst
