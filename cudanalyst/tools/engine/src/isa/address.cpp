// Addresses between state spaces: cvta, isspacep, and those of a cluster: mapa, getctarank.
#include "../exec/cluster.hpp"
#include "lanes.hpp"

namespace cudanalyst::isa {
namespace {

enum Where : u8 { in_global, in_shared, in_shared_cluster, in_local, in_constant, in_parameters };

bool lies_in(const Warp& w, u64 at, u8 where) {
  const Context& c = *w.context;
  const u64 shared = at - c.shared_window;
  const bool is_shared = shared < memory::window_bytes, is_local = at - c.local_window < memory::window_bytes;
  switch (where) {
    case in_shared: return is_shared && rank_of(*w.block, shared) == w.block->rank;
    case in_shared_cluster: return is_shared;
    case in_local: return is_local;
    default: break;
  }
  if (is_shared || is_local) return false;
  const bool parameter = at - memory::layout().base < memory::parameter_bytes;
  if (where == in_parameters) return parameter;
  const auto found = parameter ? std::nullopt : memory::find(at);
  const bool constant = found && found->kind == memory::Kind::constant_variable;
  return where == in_constant ? constant : !constant && !parameter;
}
void is_space(Warp& w, const Instr& i) {
  const u64* a = reg<u64>(w, i.a);
  each_slow<u8>(w, i.d, [&](int l) { return u8{lies_in(w, a[l], i.option)}; });
}
void isspacep(Decoder& d) {
  d.expect_operands(2);
  d.i.d = d.target(0, 1);
  d.i.a = d.source(1, 8);
  d.i.option = d.has(".global")                            ? in_global
               : d.has(".local")                           ? in_local
               : d.has(".const")                           ? in_constant
               : d.has(".shared::cluster")                 ? in_shared_cluster
               : d.has(".shared") || d.has(".shared::cta") ? in_shared
                                                           : in_parameters;
  finish(d, is_space, MixClass::predicate);
}

void move_window(Warp& w, const Instr& i) {
  const u64* a = reg<u64>(w, i.a);
  const u64 k = i.option == 0 ? 0 : i.option2 == 0 ? w.context->shared_window : w.context->local_window;
  each<u64>(w, i.d, [&](int l) { return i.option == 1 ? a[l] + k : a[l] - k; });
}
void frame_address(Warp& w, const Instr& i) {
  const u64 at = w.frame->local + static_cast<u64>(i.offset) + (i.option ? w.context->local_window : 0);
  each<u64>(w, i.d, [&](int) { return at; });
}
void parameter_address(Warp& w, const Instr& i) {
  const u64 at = reinterpret_cast<u64>(w.context->launch->parameters) - w.context->delta + static_cast<u64>(i.offset);
  each<u64>(w, i.d, [&](int) { return at; });
}
// Generic addresses of global, constant and parameter memory are what they are in their space.
void cvta(Decoder& d) {
  d.expect_operands(2);
  d.i.d = d.target(0, 8);
  const Operand& o = d.operand(1);
  const bool shared = d.has(".shared") || d.has(".shared::cta") || d.has(".shared::cluster"), local = d.has(".local");
  d.i.option = shared || local ? (d.has(".to") ? 2 : 1) : 0;
  d.i.option2 = local;
  if (o.kind == Operand::variable && (o.base->space == Space::local || o.base->space == Space::param)) {
    d.i.offset = static_cast<s64>(o.base->address) + o.value;
    bool of_kernel = false;
    for (const auto& p : d.function.parameters) of_kernel |= d.is_entry && &p == o.base;
    d.i.option = 1;
    return finish(d, of_kernel ? parameter_address : frame_address, MixClass::integer);
  }
  d.i.a = d.source(1, 8);
  finish(d, move_window, MixClass::integer);
}

// option: 1 generic, 0 in the window of the cluster's shared memory.
template <class T>
void map_run(Warp& w, const Instr& i) {
  const T* a = reg<T>(w, i.a);
  const u32* rank = reg<u32>(w, i.b);
  const u64 window = i.option ? w.context->shared_window : 0;
  each_slow<T>(w, i.d, [&](int l) { return static_cast<T>(window + cluster_address(a[l] - window, rank[l])); });
}
void mapa(Decoder& d) {
  d.expect_operands(3);
  const unsigned n = width(d.type());
  d.i.d = d.target(0, n);
  d.i.option = !d.has(".shared::cluster");
  if (d.i.option && n != 8) Decoder::reject("a generic address of 32 bits");
  d.i.a = d.source(1, n);
  d.i.b = d.source(2, 4);
  finish(d, n == 4 ? map_run<u32> : map_run<u64>, MixClass::integer);
}
template <class T>
void rank_run(Warp& w, const Instr& i) {
  const T* a = reg<T>(w, i.a);
  const u64 window = i.option ? w.context->shared_window : 0;
  each_slow<u32>(w, i.d, [&](int l) { return rank_of(*w.block, a[l] - window); });
}
void getctarank(Decoder& d) {
  d.expect_operands(2);
  const unsigned n = width(d.type());
  d.i.d = d.target(0, 4);
  d.i.option = !d.has(".shared::cluster");
  if (d.i.option && n != 8) Decoder::reject("a generic address of 32 bits");
  d.i.a = d.source(1, n);
  finish(d, n == 4 ? rank_run<u32> : rank_run<u64>, MixClass::integer);
}

constexpr Row rows[] = {
    {"cvta{.to}(.global|.shared|.shared::cta|.shared::cluster|.local|.const|.param|.param::entry).u64", cvta},
    {"isspacep(.global|.shared|.shared::cta|.shared::cluster|.local|.const|.param|.param::entry)", isspacep},
    {"mapa{.shared::cluster}(.u32|.u64)", mapa},
    {"getctarank{.shared::cluster}(.u32|.u64)", getctarank},
};
}  // namespace

std::span<const Row> address_rows() { return rows; }

}  // namespace cudanalyst::isa
