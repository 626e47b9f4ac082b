// cp.async and mbarrier. A copy is visible when it is waited for, and not before.
#include "../check/check.hpp"
#include "../exec/access.hpp"
#include "lanes.hpp"

namespace cudanalyst {

void async_complete(Warp& w, u32 lane, u32 groups) {
  Block& b = *w.block;
  size_t kept = 0;
  for (size_t k = 0; k < w.pending.size(); ++k) {
    const AsyncCopy copy = w.pending[k];
    if (copy.lane != lane || copy.group >= groups) {
      w.pending[kept++] = copy;
      continue;
    }
    std::memcpy(b.shared + copy.shared, copy.data, copy.bytes);
    if (!b.shared_init.empty()) std::memset(b.shared_init.data() + copy.shared, 1, copy.bytes);
    if (!b.shared_pending.empty()) {
      for (u32 n = 0; n < copy.bytes; ++n) --b.shared_pending[copy.shared + n];
      --b.pending_total;
    }
    if (w.context->checks & racecheck) race_async_write(w, *copy.instr, lane, copy.shared, copy.bytes);
  }
  w.pending.resize(kept);
}

namespace isa {

void memory_form(Decoder& d, const Operand& address);

namespace {

struct Copy {
  const Instr* target;  // the shared side
  u32 size_slot;        // of src-size, or none
  u32 ignore_slot;      // of the ignore-src predicate, or none
  bool ignore_negated;
};

void copy_run(Warp& w, const Instr& i) {
  const Copy& k = *static_cast<const Copy*>(i.more);
  u64 from[32], to[32];
  lane_addresses(w, i, from);
  lane_addresses(w, *k.target, to);
  const u32 lanes = w.mask;
  u32 full = 0;  // lanes that read everything
  u32 size[32];
  for (u32 l = 0; l < 32; ++l) {
    size[l] = i.bytes;
    if (k.size_slot != none) size[l] = std::min<u32>(reg<u32>(w, k.size_slot)[l], i.bytes);
    if (k.ignore_slot != none && (reg<u8>(w, k.ignore_slot)[l] != 0) != k.ignore_negated) size[l] = 0;
    full |= static_cast<u32>((lanes >> l & 1) && size[l] == i.bytes) << l;
  }
  u64 source[32];
  std::memcpy(source, from, sizeof source);
  u32 good = lanes & ~full;
  if (full) {
    w.mask = full;
    good |= resolve(w, i, source);
  }
  for (u32 rest = lanes & ~full; rest && !w.event; rest &= rest - 1) {
    const u32 l = static_cast<u32>(__builtin_ctz(rest));
    if (size[l] == 0) continue;
    Instr part = i;
    part.bytes = 1;
    u64 at[32];
    w.mask = 1u << l;
    std::memcpy(at, from, sizeof at);
    at[l] += size[l] - 1;
    if (!resolve(w, part, at)) good &= ~w.mask;
    std::memcpy(at, from, sizeof at);
    if (!resolve(w, part, at)) good &= ~w.mask;
    source[l] = at[l];
  }
  w.mask = good;
  if (!good || w.event) {
    w.mask = lanes;
    return;
  }
  u64 place[32];
  std::memcpy(place, to, sizeof place);
  // The range of the target is checked now; it is written, for the checks too, when the copy arrives.
  Instr reach = *k.target;
  reach.location = i.location;
  reach.pc = i.pc;
  const bool observing = w.context->observing;
  const unsigned checks = w.context->checks;
  w.context->observing = observing && !checks;
  good = resolve(w, reach, place);
  w.context->observing = observing;
  w.mask = lanes;
  for (u32 rest = good; rest; rest &= rest - 1) {
    const u32 l = static_cast<u32>(__builtin_ctz(rest));
    AsyncCopy copy{l, static_cast<u32>(place[l] - reinterpret_cast<u64>(w.block->shared)), i.bytes, w.open_group[l], &i, {}};
    std::memcpy(copy.data, reinterpret_cast<const void*>(source[l]), size[l]);
    if (!w.block->shared_pending.empty()) {
      for (u32 n = 0; n < i.bytes; ++n) ++w.block->shared_pending[copy.shared + n];
      ++w.block->pending_total;
    }
    w.pending.push_back(copy);
  }
}
void copy(Decoder& d) {
  const size_t n = d.operands() - (d.has(".L2::cache_hint") ? 1 : 0);
  if (n < 3 || n > 4 || d.operand(2).kind != Operand::integer) Decoder::reject("operands of this form");
  const s64 bytes = d.operand(2).value;
  if (bytes != 4 && bytes != 8 && bytes != 16) Decoder::reject("a size that is not 4, 8 or 16");
  auto* k = new Copy{nullptr, none, none, false};
  d.program.owned.emplace_back(k, [](void* p) { delete static_cast<Copy*>(p); });
  d.i.bytes = static_cast<u8>(bytes);
  Instr guard = d.i;
  d.i.space = AccessSpace::shared;
  d.i.access = Access::write;
  d.address(d.operand(0));
  k->target = d.keep(d.i);
  d.i = guard;
  d.i.space = AccessSpace::global;
  d.i.access = Access::read;
  d.address(d.operand(1));
  if (n == 4) {
    const Operand& o = d.operand(3);
    const bool predicate = o.kind == Operand::reg && d.register_bytes(o.index) == 1;
    if (predicate) k->ignore_slot = d.predicate(o, k->ignore_negated);
    else k->size_slot = d.source(3, 4);
  }
  d.i.more = k;
  finish(d, copy_run, MixClass::load_global);
}
void commit_run(Warp& w, const Instr&) {
  for (u32 l = 0; l < 32; ++l) w.open_group[l] += w.mask >> l & 1;
}
void commit(Decoder& d) { d.expect_operands(0), finish(d, commit_run, MixClass::other); }
void wait_run(Warp& w, const Instr& i) {
  if (w.pending.empty()) return;
  const u32 keep = static_cast<u32>(i.offset);
  for (u32 rest = w.mask; rest; rest &= rest - 1) {
    const u32 l = static_cast<u32>(__builtin_ctz(rest));
    async_complete(w, l, i.option ? UINT32_MAX : w.open_group[l] > keep ? w.open_group[l] - keep : 0);
  }
}
void wait_group(Decoder& d) {
  d.expect_operands(1);
  if (d.operand(0).kind != Operand::integer) Decoder::reject("a count that is no literal");
  d.i.offset = d.operand(0).value;
  finish(d, wait_run, MixClass::barrier);
}
void wait_all(Decoder& d) {
  d.expect_operands(0);
  d.i.option = 1;
  finish(d, wait_run, MixClass::barrier);
}

// mbarrier: pending arrivals (20 bits), expected arrivals (20 bits), phase (24 bits).
constexpr u64 field = 0xfffff;
u64 make_state(u64 pending, u64 expected, u64 phase) { return (pending & field) | (expected & field) << 20 | phase << 40; }

u64* barrier_at(Warp& w, const Instr& i, u64* at, u32& lanes) {
  lane_addresses(w, i, at);
  lanes = resolve(w, i, at);
  return nullptr;
}
void acts(Warp& w, u32 lane, u64 at, bool release, bool acquire) {
  if (w.context->checks & racecheck) race_synchronise(w, lane, acquire ? at | 1 : at, release, acquire, true, false);
}
u64 arrive_at(u64 state, u64 count);
// The same, and those who wait for the phase learn what the arrivals published.
u64 arrive(Warp& w, u64 at, u64 state, u64 count) {
  const u64 after = arrive_at(state, count);
  if ((w.context->checks & racecheck) && after >> 40 != state >> 40) race_phase_completed(at);
  return after;
}
u64 arrive_at(u64 state, u64 count) {
  u64 pending = state & field, expected = state >> 20 & field, phase = state >> 40;
  pending -= std::min(pending, count);
  if (pending == 0) {
    pending = expected;
    ++phase;
  }
  return make_state(pending, expected, phase);
}

void watch(Warp& w, const Instr& i, u32 lane, u64 at, MbarrierUse use, u64 count, u64 state) {
  if (w.context->checks & synccheck) sync_mbarrier(w, i, lane, at, use, count, {state & field, state >> 40});
}

enum Action : u8 {
  action_init,
  action_inval,
  action_arrive,
  action_arrive_drop,
  action_test,
  action_test_parity,
  action_async_arrive,
  action_async_arrive_noinc
};
void mbarrier_run(Warp& w, const Instr& i) {
  u64 at[32];
  u32 lanes = 0;
  barrier_at(w, i, at, lanes);
  for (u32 rest = lanes; rest; rest &= rest - 1) {
    const u32 l = static_cast<u32>(__builtin_ctz(rest));
    u64& state = *reinterpret_cast<u64*>(at[l]);
    const u64 before = state;
    switch (i.option) {
      case action_init: {
        const u64 count = reg<u32>(w, i.b)[l];
        watch(w, i, l, at[l], MbarrierUse::init, count, state);
        state = make_state(count, count, 0);
        break;
      }
      case action_inval:
        watch(w, i, l, at[l], MbarrierUse::inval, 0, state);
        state = 0;
        break;
      case action_arrive:
      case action_arrive_drop:
        watch(w, i, l, at[l], MbarrierUse::arrive, i.b == none ? 1 : reg<u32>(w, i.b)[l], state);
        acts(w, l, at[l], true, false);
        if (i.option == action_arrive_drop) state = make_state(state & field, (state >> 20 & field) - 1, state >> 40);
        state = arrive(w, at[l], state, i.b == none ? 1 : reg<u32>(w, i.b)[l]);
        if (i.d != none) reg<u64>(w, i.d)[l] = before;
        break;
      case action_test:
      case action_test_parity: {
        const u64 phase = state >> 40;
        if (i.option == action_test) watch(w, i, l, at[l], MbarrierUse::test, reg<u64>(w, i.b)[l] >> 40, state);
        else watch(w, i, l, at[l], MbarrierUse::test_parity, 0, state);
        const bool done = i.option == action_test ? phase != reg<u64>(w, i.b)[l] >> 40 : (phase & 1) != (reg<u32>(w, i.b)[l] & 1);
        reg<u8>(w, i.d)[l] = done;
        if (done) acts(w, l, at[l], false, true);
        else w.spinning = true;
        break;
      }
      case action_async_arrive:
      case action_async_arrive_noinc:
        watch(w, i, l, at[l], MbarrierUse::arrive, 1, state);
        async_complete(w, l, UINT32_MAX);
        acts(w, l, at[l], true, false);
        if (i.option == action_async_arrive_noinc) state = arrive(w, at[l], state, 1);
        break;
    }
  }
}
void mbarrier_form(Decoder& d, const Operand& address, Action action) {
  d.i.space = d.has(".shared") || d.has(".shared::cta") ? AccessSpace::shared : AccessSpace::generic;
  d.i.access = action == action_init ? Access::write : Access::atomic;
  d.i.strong = action != action_init;  // to initialise orders nothing
  d.i.bytes = d.i.width = 8;
  d.i.option = action;
  d.address(address);
  finish(d, mbarrier_run, MixClass::barrier);
}
void mbarrier_init(Decoder& d) {
  d.expect_operands(2);
  d.i.b = d.source(1, 4);
  mbarrier_form(d, d.operand(0), action_init);
}
void mbarrier_inval(Decoder& d) { d.expect_operands(1), mbarrier_form(d, d.operand(0), action_inval); }
void mbarrier_arrive(Decoder& d) {
  if (d.operands() < 2 || d.operands() > 3) Decoder::reject("operands of this form");
  const Operand& state = d.operand(0);
  if (state.kind != Operand::sink) d.i.d = d.target(0, 8);
  if (d.operands() == 3) d.i.b = d.source(2, 4);
  mbarrier_form(d, d.operand(1), d.statement->op.find("arrive_drop") != std::string_view::npos ? action_arrive_drop : action_arrive);
}
void mbarrier_test(Decoder& d) {
  if (d.operands() < 3 || d.operands() > 4) Decoder::reject("operands of this form");
  d.i.d = d.target(0, 1);
  const bool parity = d.has(".parity");
  d.i.b = d.source(2, parity ? 4 : 8);
  mbarrier_form(d, d.operand(1), parity ? action_test_parity : action_test);
}
void async_arrive(Decoder& d) {
  d.expect_operands(1), mbarrier_form(d, d.operand(0), d.has(".noinc") ? action_async_arrive_noinc : action_async_arrive);
}
void pending_run(Warp& w, const Instr& i) {
  const u64* a = reg<u64>(w, i.a);
  each<u32>(w, i.d, [&](int l) { return static_cast<u32>(a[l] & field); });
}
void pending_count(Decoder& d) {
  d.expect_operands(2);
  d.i.d = d.target(0, 4);
  d.i.a = d.source(1, 8);
  finish(d, pending_run, MixClass::barrier);
}
void policy_run(Warp& w, const Instr& i) {
  each<u64>(w, i.d, [](int) { return u64{0}; });
}
void policy(Decoder& d) {
  // A cache policy only hints; its value is opaque.
  d.i.d = d.target(0, 8);
  finish(d, policy_run, MixClass::other);
}

#define STATE "{.shared|.shared::cta}.b64"
#define ORDER "{.release|.relaxed}{.cta|.cluster}"
constexpr Row rows[] = {
    {"cp.async(.ca|.cg)(.shared|.shared::cta).global{.L2::cache_hint}{.L2::64B|.L2::128B|.L2::256B}", copy},
    {"cp.async.commit_group", commit},
    {"cp.async.wait_group", wait_group},
    {"cp.async.wait_all", wait_all},
    {"cp.async.mbarrier.arrive{.noinc}" STATE, async_arrive},
    {"mbarrier.init" STATE, mbarrier_init},
    {"mbarrier.inval" STATE, mbarrier_inval},
    {"mbarrier.arrive" ORDER STATE, mbarrier_arrive},
    {"mbarrier.arrive.noComplete" ORDER STATE, mbarrier_arrive},
    {"mbarrier.arrive_drop" ORDER STATE, mbarrier_arrive},
    {"mbarrier.arrive_drop.noComplete" ORDER STATE, mbarrier_arrive},
    {"mbarrier.test_wait{.acquire|.relaxed}{.cta|.cluster}" STATE, mbarrier_test},
    {"mbarrier.test_wait.parity{.acquire|.relaxed}{.cta|.cluster}" STATE, mbarrier_test},
    {"mbarrier.try_wait{.acquire|.relaxed}{.cta|.cluster}" STATE, mbarrier_test},
    {"mbarrier.try_wait.parity{.acquire|.relaxed}{.cta|.cluster}" STATE, mbarrier_test},
    {"mbarrier.pending_count.b64", pending_count},
    {"createpolicy.fractional(.L2::evict_last|.L2::evict_normal|.L2::evict_first|.L2::evict_unchanged){.L2::evict_first|.L2::evict_unchanged}.b64",
     policy},
};
}  // namespace

std::span<const Row> async_rows() { return rows; }

}  // namespace isa
}  // namespace cudanalyst
