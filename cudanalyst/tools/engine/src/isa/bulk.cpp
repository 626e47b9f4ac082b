// cp.async.bulk without tensors: copies of any size, made at once. Who reads without having waited for the mbarrier races with the copy.
#include "../exec/access.hpp"
#include "../exec/cluster.hpp"
#include "lanes.hpp"
#include "mbarrier.hpp"

namespace cudanalyst::isa {
namespace {

constexpr u32 grain = 16;

struct Bulk {
  Instr from, to, barrier;  // barrier.fn is null where a group is waited for
  u32 size_slot, mask_slot;
};

// Where the engine has the 16 bytes at the address of the lane, or 0.
u64 place(Warp& w, const Instr& i, u32 lane, u64 address) {
  u64 at[32];
  std::fill(std::begin(at), std::end(at), address);
  w.mask = 1u << lane;
  return resolve(w, i, at) ? at[lane] : 0;
}

void copy_one(Warp& w, const Bulk& b, u32 lane, u64 from, u64 to, u64 barrier, u32 size) {
  for (u32 n = 0; n < size; n += grain) {
    const u64 source = place(w, b.from, lane, from + n);
    if (w.event) return;
    const u64 target = place(w, b.to, lane, to + n);
    if (w.event) return;
    if (source && target) std::memcpy(reinterpret_cast<void*>(target), reinterpret_cast<const void*>(source), grain);
  }
  if (!b.barrier.fn) return;
  if (const u64 at = place(w, b.barrier, lane, barrier); at && !w.event) complete_bytes(w, lane, at, size);
}

void bulk_run(Warp& w, const Instr& i) {
  const Bulk& b = *static_cast<const Bulk*>(i.more);
  u64 from[32], to[32], barrier[32] = {};
  lane_addresses(w, b.from, from);
  lane_addresses(w, b.to, to);
  if (b.barrier.fn) lane_addresses(w, b.barrier, barrier);
  const u32 lanes = w.mask;
  const u32* size = reg<u32>(w, b.size_slot);
  for (u32 rest = lanes; rest && !w.event; rest &= rest - 1) {
    const u32 l = static_cast<u32>(__builtin_ctz(rest));
    if (size[l] % grain) {
      fault(w, i, illegal_instruction, "A bulk copy of " + std::to_string(size[l]) + " bytes: the size must be a multiple of 16", l);
      break;
    }
    if (b.mask_slot == none) {
      copy_one(w, b, l, from[l], to[l], barrier[l], size[l]);
      continue;
    }
    const u32 ranks = reg<u16>(w, b.mask_slot)[l];
    for (u32 rank = 0; rank < 16 && !w.event; ++rank)
      if (ranks >> rank & 1) copy_one(w, b, l, from[l], cluster_address(to[l], rank), cluster_address(barrier[l], rank), size[l]);
  }
  w.mask = lanes;
}

// An access of 16 bytes (8 of a barrier) at an operand.
Instr part(Decoder& d, size_t operand, AccessSpace space, Access access, u8 bytes) {
  const Instr before = d.i;
  d.i.space = space;
  d.i.access = access;
  d.i.bytes = d.i.width = bytes;
  d.i.mix = space == AccessSpace::global ? (access == Access::read ? MixClass::load_global : MixClass::store_global) : MixClass::store_shared;
  d.i.fn = bulk_run;
  d.address(d.operand(operand));
  const Instr made = d.i;
  d.i = before;
  return made;
}
void bulk(Decoder& d) {
  auto* b = new Bulk{};
  d.program.owned.emplace_back(b, [](void* p) { delete static_cast<Bulk*>(p); });
  const bool grouped = d.has(".bulk_group");
  // The first of .global and .shared is where the copy goes.
  bool to_global = false, from_shared = false, first = true;
  for (const std::string_view m : d.mods) {
    const bool global = m == ".global", shared = m.starts_with(".shared");
    if (!global && !shared) continue;
    if (first) to_global = global;
    else from_shared = shared;
    first = false;
  }
  const bool cast = d.has(".multicast::cluster");
  d.expect_operands(3u + !grouped + cast + d.has(".L2::cache_hint"));
  b->to = part(d, 0, to_global ? AccessSpace::global : AccessSpace::shared, Access::write, grain);
  b->from = part(d, 1, from_shared ? AccessSpace::shared : AccessSpace::global, Access::read, grain);
  b->size_slot = d.source(2, 4);
  if (!grouped) {
    b->barrier = part(d, 3, AccessSpace::shared, Access::atomic, 8);
    b->barrier.strong = true;
    b->barrier.mix = MixClass::barrier;
  }
  b->mask_slot = cast ? d.source(4, 2) : none;
  d.i.more = b;
  const u32 pc = static_cast<u32>(d.program.code.size());
  for (Instr* i : {&b->to, &b->from, &b->barrier}) i->pc = pc, i->location = d.statement->location;
  finish(d, bulk_run, to_global ? MixClass::store_global : MixClass::load_global);
}

void nothing(Warp&, const Instr&) {}
void done(Decoder& d) { finish(d, nothing, MixClass::barrier); }
void hint(Decoder& d) { finish(d, nothing, MixClass::other); }

constexpr Row rows[] = {
    {"cp.async.bulk(.shared::cluster|.shared::cta).global.mbarrier::complete_tx::bytes{.multicast::cluster}{.L2::cache_hint}", bulk},
    {"cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes", bulk},
    {"cp.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}", bulk},
    {"cp.async.bulk.prefetch.L2.global{.L2::cache_hint}", hint},
    {"cp.async.bulk.commit_group", done},
    {"cp.async.bulk.wait_group{.read}", done},
};
}  // namespace

std::span<const Row> bulk_rows() { return rows; }

}  // namespace cudanalyst::isa
