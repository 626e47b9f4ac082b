// Branches, calls, barriers, fences.
#include "../check/check.hpp"
#include "lanes.hpp"

namespace cudanalyst::isa {
namespace {

void nothing(Warp&, const Instr&) {}

void bra(Decoder& d) {
  d.expect_operands(1);
  if (d.operand(0).kind != Operand::name) Decoder::reject("a target that is no label");
  d.i.target = d.label(d.operand(0).text);
  d.i.control = Control::branch;
  finish(d, nothing, MixClass::control);
}
void brx(Decoder& d) {
  d.expect_operands(2);
  d.i.a = d.source(0, 4);
  const std::string_view name = d.operand(1).text;
  for (u32 scope = d.statement->scope;; scope = d.function.scope_parent[scope]) {
    if (const auto it = d.function.targets.find({scope, name}); it != d.function.targets.end()) {
      auto table = std::make_unique<std::vector<u32>>();
      for (const auto label : it->second) table->push_back(d.label(label));
      d.i.more = table.get();
      d.program.tables.push_back(std::move(table));
      d.i.control = Control::branch_table;
      return finish(d, nothing, MixClass::control);
    }
    if (scope == 0) Decoder::reject("unknown table " + std::string(name));
  }
}
void ret(Decoder& d) {
  d.i.control = Control::ret;
  finish(d, nothing, MixClass::control);
}
void leave(Decoder& d) {
  d.i.control = Control::exit;
  finish(d, nothing, MixClass::control);
}
void trap(Decoder& d) {
  d.i.control = Control::trap;
  finish(d, nothing, MixClass::control);
}

void builtin(Warp& w, const Instr& i) {
  const auto& name = *static_cast<const std::pair<CallSite, std::string>*>(i.more);
  builtin_call(w, i, name.second, w.mask);
}

void call(Decoder& d) {
  auto site = std::make_unique<CallSite>();
  size_t k = 0;
  const auto offsets = [&](const Operand& group) {
    std::vector<u32> result;
    for (u32 n = 0; n < group.count; ++n) {
      const Operand& o = d.part(group, n);
      if (o.kind != Operand::variable || o.base->space != Space::param) Decoder::reject("an argument that is no .param variable");
      result.push_back(static_cast<u32>(o.base->address));
    }
    return result;
  };
  if (d.operand(0).kind == Operand::group) site->results = offsets(d.operand(k++));
  const Operand& callee = d.operand(k++);
  if (k < d.operands() && d.operand(k).kind == Operand::group) site->arguments = offsets(d.operand(k));
  if (callee.kind == Operand::reg) {
    d.i.a = d.source(callee, 8);
    d.i.control = Control::call_indirect;
    d.i.more = site.get();
    d.program.calls.push_back(std::move(site));
    return finish(d, nothing, MixClass::control);
  }
  if (callee.kind != Operand::name) Decoder::reject("a callee of this form");
  if (is_builtin(callee.text)) {
    auto* named = new std::pair<CallSite, std::string>(std::move(*site), callee.text);
    d.program.owned.emplace_back(named, [](void* p) { delete static_cast<std::pair<CallSite, std::string>*>(p); });
    d.i.more = named;
    return finish(d, builtin, MixClass::control);
  }
  const auto found = d.program.unit->function_by_name.find(callee.text);
  if (found == d.program.unit->function_by_name.end() || !found->second->defined)
    Decoder::reject("the function " + std::string(callee.text) + " is not defined in this module");
  d.i.target = found->second->number;
  d.i.control = Control::call;
  d.i.more = site.get();
  d.program.calls.push_back(std::move(site));
  finish(d, nothing, MixClass::control);
}

// Barriers of the block. c: id, b: count (none: all), option: 1 popc, 2 and, 3 or; v[0]: the predicate of a reduction.
void bar_run(Warp& w, const Instr& i) {
  const u32 *ids = reg<u32>(w, i.c), *counts = i.b == none ? nullptr : reg<u32>(w, i.b);
  const bool wait = i.option2 == 0;
  if (i.target != none && !counts && !i.option) return barrier_arrive(w, i, w.mask, i.target, 0, wait);
  u32 left = w.mask;
  while (left && !w.event) {
    const u32 first = static_cast<u32>(__builtin_ctz(left)), id = ids[first], count = counts ? counts[first] : 0;
    u32 same = 0;
    for (u32 l = 0; l < 32; ++l)
      if (left >> l & 1 && ids[l] == id && (!counts || counts[l] == count)) same |= 1u << l;
    left &= ~same;
    if (i.option && id < 16) {
      const u8* p = reg<u8>(w, i.v[0]);
      for (u32 l = 0; l < 32; ++l)
        if (same >> l & 1) w.block->barriers[id].reduction += p[l] ^ static_cast<u8>(i.acquire);
    }
    barrier_arrive(w, i, same, id, count, wait);
  }
}
void bar(Decoder& d) {
  const bool reduces = d.has(".red"), arrives = d.has(".arrive");
  size_t k = 0, end = d.operands();
  if (reduces) {
    d.i.option = d.has(".popc") ? 1 : d.has(".and") ? 2 : 3;
    d.i.d = d.target(k++, d.i.option == 1 ? 4 : 1);
    bool negated = false;
    d.i.v[0] = d.predicate(d.operand(--end), negated);
    d.i.acquire = negated;
  }
  d.i.target = d.operand(k).kind == Operand::integer ? static_cast<u32>(d.operand(k).value) : none;  // a literal id spares the search
  d.i.c = d.source(k++, 4);
  if (k < end) d.i.b = d.source(k++, 4);
  if (k != end || (arrives && d.i.b == none)) Decoder::reject("operands of this form");
  d.i.option2 = arrives;
  d.i.control = Control::barrier;
  finish(d, bar_run, MixClass::barrier);
}
void cluster_run(Warp& w, const Instr& i) {
  if (i.option2) cluster_arrive(w, i, w.mask, i.option == 0);
  else cluster_wait(w, i, w.mask);
}
void cluster_barrier(Decoder& d) {
  d.expect_operands(0);
  d.i.option = d.has(".relaxed");
  d.i.option2 = d.has(".arrive");
  d.i.control = Control::barrier;
  finish(d, cluster_run, MixClass::barrier);
}
void warp_barrier(Decoder& d) {
  d.expect_operands(1);
  d.i.e = d.source(0, 4);
  d.i.control = Control::warp_sync;
  d.i.apart = true;
  finish(d, nothing, MixClass::barrier);
}
void fence_run(Warp& w, const Instr& i) {
  if (w.context->checks & racecheck) race_fence(w, w.mask, i.narrow);
  if (w.context->launch->parallel) __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
void fence(Decoder& d) {
  d.expect_operands(0);
  d.i.narrow = d.has(".cta");
  finish(d, fence_run, MixClass::barrier);
}
// What a thread allocates in a call it gives back with it; the stack grows down from the end of its local memory.
void alloca_run(Warp& w, const Instr& i) {
  const u64* size = reg<u64>(w, i.a);
  u64* d = reg<u64>(w, i.d);
  Block& b = *w.block;
  const u64 used = w.frame->local + w.frame->code->local_bytes;
  for (u32 rest = w.mask; rest; rest &= rest - 1) {
    const u32 l = static_cast<u32>(__builtin_ctz(rest));
    const u64 top = b.local_stride - w.dynamic_local[l];
    const u64 at = size[l] > top ? 0 : (top - size[l]) & ~static_cast<u64>(i.offset - 1);
    if (at < used) return fault(w, i, hardware_stack_error, "alloca of " + std::to_string(size[l]) + " bytes: the stack of the thread is full", l);
    w.dynamic_local[l] = static_cast<u32>(b.local_stride - at);
    if (b.local_init) std::memset(b.local_init + (u64{w.id} * 32 + l) * b.local_stride + at, 0, top - at);
    d[l] = at;
  }
}
void alloca_form(Decoder& d) {
  if (d.operands() < 2 || d.operands() > 3) Decoder::reject("operands of this form");
  d.i.d = d.target(0, 8);
  d.i.a = d.source(1, 8);
  d.i.offset = 16;
  if (d.operands() == 3) {
    if (d.operand(2).kind != Operand::integer) Decoder::reject("an alignment that is no literal");
    d.i.offset = std::max<s64>(d.operand(2).value, 16);
  }
  finish(d, alloca_run, MixClass::other);
}
void stack_run(Warp& w, const Instr& i) {
  for (u32 rest = w.mask; rest; rest &= rest - 1) {
    const u32 l = static_cast<u32>(__builtin_ctz(rest));
    if (i.d != none) reg<u64>(w, i.d)[l] = w.block->local_stride - w.dynamic_local[l];
    else w.dynamic_local[l] = static_cast<u32>(std::min<u64>(w.block->local_stride - reg<u64>(w, i.a)[l], w.block->local_stride));
  }
}
void stack(Decoder& d) {
  d.expect_operands(1);
  if (d.statement->op[5] == 's') d.i.d = d.target(0, 8);
  else d.i.a = d.source(0, 8);
  finish(d, stack_run, MixClass::other);
}
void nanosleep(Decoder& d) {
  d.expect_operands(1);
  d.source(0, 4);
  d.i.control = Control::yield;
  finish(d, nothing, MixClass::control);
}
constexpr Row rows[] = {
    {"bra{.uni}", bra},
    {"brx.idx{.uni}", brx},
    {"ret{.uni}", ret},
    {"exit", leave},
    {"trap", trap},
    {"brkpt", trap},
    {"call{.uni}", call},
    {"bar{.cta}.sync", bar},
    {"bar{.cta}.arrive", bar},
    {"bar{.cta}.red.popc.u32", bar},
    {"bar{.cta}.red(.and|.or).pred", bar},
    {"barrier{.cta}.sync{.aligned}", bar},
    {"barrier{.cta}.arrive{.aligned}", bar},
    {"barrier{.cta}.red.popc{.aligned}.u32", bar},
    {"barrier{.cta}.red(.and|.or){.aligned}.pred", bar},
    {"bar.warp.sync", warp_barrier},
    {"barrier.cluster.arrive{.release|.relaxed}{.aligned}", cluster_barrier},
    {"barrier.cluster.wait{.acquire}{.aligned}", cluster_barrier},
    {"membar(.cta|.gl|.sys)", fence},
    {"fence{.sc|.acq_rel|.acquire|.release}(.cta|.cluster|.gpu|.sys)", fence},
    {"fence.proxy.async{.global|.shared::cta|.shared::cluster}", fence},
    {"fence.mbarrier_init.release.cluster", fence},
    {"fence.proxy.alias", fence},
    {"fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster", fence},
    {"fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster", fence},
    {"fence.acquire.sync_restrict::shared::cluster.cluster", fence},
    {"fence.release.sync_restrict::shared::cta.cluster", fence},
    {"alloca.u64", alloca_form},
    {"stacksave.u64", stack},
    {"stackrestore.u64", stack},
    {"nanosleep.u32", nanosleep},
};
}  // namespace

std::span<const Row> control_rows() { return rows; }

}  // namespace cudanalyst::isa
