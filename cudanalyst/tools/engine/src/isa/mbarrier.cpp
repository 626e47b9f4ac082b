// mbarrier, and what completes transactions on one: st.async, red.async.
#include "mbarrier.hpp"

#include "../check/check.hpp"
#include "../exec/access.hpp"
#include "lanes.hpp"

namespace cudanalyst::isa {

void memory_form(Decoder& d, const Operand& address);

namespace {

// The state in memory: pending arrivals (20 bits), expected arrivals (20), bytes that are still to come (21, signed), phase (3).
constexpr u64 field = 0xfffff;
struct State {
  u64 pending, expected;
  s64 bytes;
  u64 phase;
};
State unpack(u64 word) { return {word & field, word >> 20 & field, static_cast<s64>(word << 3) >> 43, word >> 61}; }
u64 pack(const State& s) { return (s.pending & field) | (s.expected & field) << 20 | (static_cast<u64>(s.bytes) & 0x1fffff) << 40 | s.phase << 61; }
void finish_phase(State& s) {
  if (s.pending || s.bytes) return;
  s.pending = s.expected;
  ++s.phase;
}
void arrive_at(State& s, u64 count) {
  s.pending -= std::min(s.pending, count);
  finish_phase(s);
}

void acts(Warp& w, u32 lane, u64 at, bool release, bool acquire) {
  if (w.context->checks & racecheck) race_synchronise(w, lane, acquire ? at | 1 : at, release, acquire, true, false);
}
void watch(Warp& w, const Instr& i, u32 lane, u64 at, MbarrierUse use, u64 count, const State& s) {
  if (w.context->checks & synccheck) sync_mbarrier(w, i, lane, at, use, count, {s.pending, s.phase});
}

// Those who wait for a phase learn what the arrivals published.
void put(Warp& w, u64 at, const State& s) {
  u64& word = *reinterpret_cast<u64*>(at);
  if ((w.context->checks & racecheck) && unpack(word).phase != (s.phase & 7)) race_phase_completed(at);
  word = pack(s);
}

enum Action : u8 {
  action_init,
  action_inval,
  action_arrive,
  action_arrive_drop,
  action_arrive_expect,
  action_drop_expect,
  action_expect,
  action_complete,
  action_test,
  action_test_parity,
  action_async_arrive,
  action_async_arrive_noinc
};
bool test(const State& s, u64 wanted, bool parity) { return parity ? (s.phase & 1) != (wanted & 1) : s.phase != unpack(wanted).phase; }

void act(Warp& w, const Instr& i, u32 l, u64 at) {
  const u64 before = *reinterpret_cast<const u64*>(at);
  State s = unpack(before);
  const u64 given = i.b == none ? 1 : i.option == action_test ? reg<u64>(w, i.b)[l] : reg<u32>(w, i.b)[l];
  switch (i.option) {
    case action_init:
      watch(w, i, l, at, MbarrierUse::init, given, s);
      s = {given, given, 0, 0};
      break;
    case action_inval:
      watch(w, i, l, at, MbarrierUse::inval, 0, s);
      s = {};
      break;
    case action_arrive:
    case action_arrive_drop:
    case action_arrive_expect:
    case action_drop_expect: {
      const bool expects = i.option == action_arrive_expect || i.option == action_drop_expect;
      const u64 count = expects ? 1 : given;
      watch(w, i, l, at, MbarrierUse::arrive, count, s);
      if (i.release) acts(w, l, at, true, false);
      if (expects) s.bytes += static_cast<s64>(given);
      if (i.option == action_arrive_drop || i.option == action_drop_expect) s.expected -= std::min(s.expected, count);
      arrive_at(s, count);
      if (i.d != none) reg<u64>(w, i.d)[l] = before;
      break;
    }
    case action_expect: s.bytes += static_cast<s64>(given); break;
    case action_complete:
      s.bytes -= static_cast<s64>(given);
      finish_phase(s);
      break;
    case action_test:
    case action_test_parity: {
      const bool parity = i.option == action_test_parity, done = test(s, given, parity);
      watch(w, i, l, at, parity ? MbarrierUse::test_parity : MbarrierUse::test, parity ? 0 : unpack(given).phase, s);
      reg<u8>(w, i.d)[l] = done;
      if (done && i.acquire) acts(w, l, at, false, true);
      if (!done) w.spinning = true;
      return;
    }
    case action_async_arrive:
    case action_async_arrive_noinc:
      watch(w, i, l, at, MbarrierUse::arrive, 1, s);
      async_complete(w, l, UINT32_MAX);
      acts(w, l, at, true, false);
      if (i.option == action_async_arrive_noinc) arrive_at(s, 1);
      break;
  }
  put(w, at, s);
}
void mbarrier_run(Warp& w, const Instr& i) {
  u64 at[32];
  lane_addresses(w, i, at);
  for (u32 rest = resolve(w, i, at); rest; rest &= rest - 1) {
    const u32 l = static_cast<u32>(__builtin_ctz(rest));
    act(w, i, l, at[l]);
  }
}
void form(Decoder& d, const Operand& address, Action action) {
  d.i.space = d.has(".shared") || d.has(".shared::cta") || d.has(".shared::cluster") ? AccessSpace::shared : AccessSpace::generic;
  d.i.access = action == action_init ? Access::write : Access::atomic;
  d.i.strong = action != action_init;  // to initialise orders nothing
  d.i.bytes = d.i.width = 8;
  d.i.option = action;
  const bool relaxed = d.has(".relaxed");
  d.i.acquire = !relaxed && (action == action_test || action == action_test_parity);
  d.i.release = !relaxed && !d.i.acquire;
  d.address(address);
  finish(d, mbarrier_run, MixClass::barrier);
}
void init(Decoder& d) {
  d.expect_operands(2);
  d.i.b = d.source(1, 4);
  form(d, d.operand(0), action_init);
}
void inval(Decoder& d) { d.expect_operands(1), form(d, d.operand(0), action_inval); }
void arrive(Decoder& d) {
  const bool expects = d.has(".expect_tx"), drop = d.has(".arrive_drop"), remote = d.has(".shared::cluster");
  // The state may be left out of what has none.
  const size_t first = d.operand(0).kind == Operand::address ? 0 : 1;
  const size_t n = d.operands() - first;
  if (n < 1 || n > 2 || (n == 1 && (expects || d.has(".noComplete")))) Decoder::reject("operands of this form");
  if (first && d.operand(0).kind != Operand::sink) {
    if (remote) Decoder::reject("a state of another block's barrier");
    d.i.d = d.target(0, 8);
  }
  if (n == 2) d.i.b = d.source(first + 1, 4);
  form(d, d.operand(first), expects ? (drop ? action_drop_expect : action_arrive_expect) : drop ? action_arrive_drop : action_arrive);
}
void transactions(Decoder& d) {
  d.expect_operands(2);
  d.i.b = d.source(1, 4);
  form(d, d.operand(0), d.has(".expect_tx") ? action_expect : action_complete);
}
void wait(Decoder& d) {
  if (d.operands() < 3 || d.operands() > 4) Decoder::reject("operands of this form");
  if (d.operands() == 4 && !d.has(".try_wait")) Decoder::reject("operands of this form");
  d.i.d = d.target(0, 1);
  const bool parity = d.has(".parity");
  d.i.b = d.source(2, parity ? 4 : 8);
  form(d, d.operand(1), parity ? action_test_parity : action_test);
}
void async_arrive(Decoder& d) { d.expect_operands(1), form(d, d.operand(0), d.has(".noinc") ? action_async_arrive_noinc : action_async_arrive); }
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

// A store or reduction whose bytes the barrier then counts. They are there when its phase is over, and here at once.
struct Counted {
  Instr access, barrier;
};
void counted_run(Warp& w, const Instr& i) {
  const Counted& c = *static_cast<const Counted*>(i.more);
  c.access.fn(w, c.access);
  if (w.event) return;
  u64 at[32];
  lane_addresses(w, c.barrier, at);
  for (u32 rest = resolve(w, c.barrier, at); rest; rest &= rest - 1) {
    const u32 l = static_cast<u32>(__builtin_ctz(rest));
    complete_bytes(w, l, at[l], u64{c.access.bytes} * c.access.count);
  }
}
void counted(Decoder& d) {
  d.expect_operands(3);
  // What stands before the barrier is the plain form.
  std::string plain = d.statement->op[0] == 's' ? "st.shared::cluster" : "red.relaxed.cluster.shared::cluster";
  for (const std::string_view m : d.mods)
    if (m != ".async" && m != ".weak" && m != ".relaxed" && m != ".cluster" && m.find("::") == std::string_view::npos) plain += m;
  auto* c = new Counted{};
  d.program.owned.emplace_back(c, [](void* p) { delete static_cast<Counted*>(p); });
  const ptx::Statement* whole = d.statement;
  ptx::Statement part = *whole;
  d.program.names.push_back(std::make_unique<std::string>(plain));
  part.op = *d.program.names.back();
  part.count = 2;
  const Instr before = d.i;
  const auto mods = d.mods;
  d.statement = &part;
  const Row* row = find_row(part.op, d.mods);
  if (!row) Decoder::reject("this type");
  row->decode(d);
  c->access = d.i;
  d.statement = whole;
  d.mods = mods;
  d.i = before;
  form(d, d.operand(2), action_complete);
  d.i.space = AccessSpace::shared;
  c->barrier = d.i;
  d.i = before;
  d.i.more = c;
  finish(d, counted_run, whole->op[0] == 's' ? MixClass::store_shared : MixClass::atomic);
}

#define OWN "{.shared|.shared::cta}.b64"
#define ANY "{.shared|.shared::cta|.shared::cluster}.b64"
#define RELEASE "{.release|.relaxed}{.cta|.cluster}"
#define ACQUIRE "{.acquire|.relaxed}{.cta|.cluster}"
#define COUNTED ".mbarrier::complete_tx::bytes"
constexpr Row rows[] = {
    {"mbarrier.init" OWN, init},
    {"mbarrier.inval" OWN, inval},
    {"mbarrier(.expect_tx|.complete_tx){.relaxed}{.cta|.cluster}" ANY, transactions},
    {"mbarrier(.arrive|.arrive_drop){.expect_tx}" RELEASE ANY, arrive},
    {"mbarrier(.arrive|.arrive_drop).noComplete{.release}{.cta}" OWN, arrive},
    {"mbarrier(.test_wait|.try_wait){.parity}" ACQUIRE OWN, wait},
    {"mbarrier.pending_count.b64", pending_count},
    {"cp.async.mbarrier.arrive{.noinc}" OWN, async_arrive},
    {"st.async{.weak}{.shared::cluster}" COUNTED "{.v2|.v4}(.b32|.u32|.s32|.f32|.b64|.u64|.s64|.f64)", counted},
    {"red.async.relaxed.cluster{.shared::cluster}" COUNTED "(.inc|.dec|.min|.max|.add|.and|.or|.xor)(.u32|.s32|.b32|.u64)", counted},
};
}  // namespace

void complete_bytes(Warp& w, u32 lane, u64 at, u64 bytes) {
  acts(w, lane, at, true, false);
  State s = unpack(*reinterpret_cast<const u64*>(at));
  s.bytes -= static_cast<s64>(bytes);
  finish_phase(s);
  put(w, at, s);
}

std::span<const Row> mbarrier_rows() { return rows; }

}  // namespace cudanalyst::isa
