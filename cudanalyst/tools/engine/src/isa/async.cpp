// cp.async, and cache policies. A copy is visible when it is waited for, and not before.
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
  if (bytes != 16 && (d.has(".cg") || (bytes != 4 && bytes != 8))) Decoder::reject("a size that it does not have");
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

void policy_run(Warp& w, const Instr& i) {
  each<u64>(w, i.d, [](int) { return u64{0}; });
}
void policy(Decoder& d) {
  // A cache policy only hints; its value is opaque.
  d.i.d = d.target(0, 8);
  finish(d, policy_run, MixClass::other);
}

constexpr Row rows[] = {
    {"cp.async.ca(.shared|.shared::cta).global{.L2::cache_hint}{.L2::64B|.L2::128B|.L2::256B}", copy},
    {"cp.async.cg(.shared|.shared::cta).global{.L2::cache_hint}{.L2::64B|.L2::128B|.L2::256B}", copy},
    {"cp.async.commit_group", commit},
    {"cp.async.wait_group", wait_group},
    {"cp.async.wait_all", wait_all},
    {"createpolicy.fractional(.L2::evict_last|.L2::evict_normal|.L2::evict_first|.L2::evict_unchanged){.L2::evict_first|.L2::evict_unchanged}.b64",
     policy},
    {"createpolicy.range{.global}(.L2::evict_last|.L2::evict_normal|.L2::evict_first|.L2::evict_unchanged){.L2::evict_first|.L2::evict_unchanged}."
     "b64",
     policy},
    {"createpolicy.cvt.L2.b64", policy},
};
}  // namespace

std::span<const Row> async_rows() { return rows; }

}  // namespace isa
}  // namespace cudanalyst
