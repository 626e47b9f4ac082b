// Pairs of sides, and groups of timed blocks: what a comparison consists of.
#include "timing.hpp"

#include <algorithm>
#include <chrono>
#include <map>

#include "commands.hpp"

namespace cudanalyst::executor {

namespace {

constexpr size_t most_calls = 65536;
constexpr size_t most_nodes = 262144;
constexpr size_t most_groups = 256;
constexpr size_t direct_operations = 8;  // more than this would fill the queue behind a closed gate
constexpr int most_gate_failures = 3;
constexpr uint64_t most_ms = 60'000;

double now_us() { return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts(1);
  for (const char c : list) {
    if (c == ',') parts.emplace_back();
    else parts.back() += c;
  }
  return parts;
}

Timing::Mode mode_of(std::string_view word) {
  if (word == "warm") return Timing::Mode::warm;
  if (word == "cold") return Timing::Mode::cold;
  if (word == "cold_data") return Timing::Mode::cold_data;
  if (word == "single") return Timing::Mode::single;
  throw BadCommand("MODE is warm, cold, cold_data or single");
}

// Whether two operations set one attribute of one kernel to different values.
class Attributes {
 public:
  void see(const Trace& trace) {
    for (const Operation& operation : trace.operations()) {
      if (operation.kind != Operation::Kind::attribute) continue;
      const auto [at, fresh] = values_.emplace(std::pair{operation.kernel, operation.attribute}, operation.value);
      change_ |= !fresh && at->second != operation.value;
    }
  }
  bool change() const { return change_; }

 private:
  std::map<std::pair<const Kernel*, int>, int> values_;
  bool change_ = false;
};

// Whether nothing is left to do on any stream of a candidate once the timed one is empty.
bool idle(const Lanes& lanes) {
  bool all = true;
  lanes.each([&](CUstream stream) {
    const CUresult state = driver().cuStreamQuery(stream);
    if (state == CUDA_ERROR_NOT_READY) all = false;
    else check(state, "cuStreamQuery");
  });
  return all;
}

}  // namespace

void Timing::make_pair(const std::string& name, Mode mode, size_t calls, std::vector<std::string> a, std::vector<std::string> b, Object& answer) {
  const double started = now_us();
  if (calls < 1) throw BadCommand("CALLS is at least 1");
  if (mode != Mode::warm && calls != 1) throw BadCommand("only warm blocks hold more than one call");
  if (a.size() != b.size()) throw BadCommand("both sides need the same number of traces, one for each buffer set");
  Pair pair;
  pair.mode = mode;
  pair.calls = calls;
  pair.sides[0].traces = std::move(a);
  pair.sides[1].traces = std::move(b);
  size_t most = 0;
  Attributes attributes;
  for (const Side& side : pair.sides) {
    for (const std::string& id : side.traces) {
      const Trace& trace = session_.trace(id);
      most = std::max(most, trace.operations().size());
      attributes.see(trace);
      // Behind a closed gate, or while capturing, the driver might refuse it or wait for the device.
      trace.prepare(session_.lanes);
    }
  }
  pair.attributes = attributes.change();
  if (most * calls > most_nodes) throw BadCommand("more than " + std::to_string(most_nodes) + " operations in a block: use fewer CALLS");
  pairs_.erase(name);
  // Both sides take the same road: one replayed directly and one as a graph would not be comparable.
  pair.direct = mode != Mode::warm && most <= direct_operations;
  if (!pair.direct) {
    for (Side& side : pair.sides) {
      // One graph where a block goes round all sets at least once, else one for each set that a block may start with.
      const size_t sets = side.traces.size(), starts = calls >= sets ? 1 : sets;
      for (size_t first = 0; first < starts; first++) {
        side.graphs.push_back(capture([&] {
          for (size_t i = 0; i < calls; i++) session_.trace(side.traces[(first + i) % sets]).enqueue(stream_.get(), session_.lanes, pair.attributes);
        }));
      }
    }
  }
  answer.add("calls", calls).add("direct", pair.direct).add("graphs", pair.sides[0].graphs.size() + pair.sides[1].graphs.size());
  answer.add("prepare_us", now_us() - started);
  pairs_.emplace(name, std::move(pair));
}

void Timing::drop_pair(const std::string& name) {
  if (!pairs_.erase(name)) throw BadCommand("there is no pair `" + name + "`");
}

Timing::Block Timing::block_events(size_t index) {
  while (events_.size() < 2 * index + 2) events_.push_back(make_event(CU_EVENT_DEFAULT));
  return {events_[2 * index].get(), events_[2 * index + 1].get()};
}

void Timing::call(Pair& pair, int side, size_t set) {
  const Side& one = pair.sides[side];
  if (pair.direct) session_.trace(one.traces[set]).enqueue(stream_.get(), session_.lanes, pair.attributes);
  else CU(cuGraphLaunch, one.graphs[one.graphs.size() == 1 ? 0 : set].get(), stream_.get());
}

void Timing::enqueue(Pair& pair, int side, size_t occurrence, Clock clock, size_t index) {
  const Block block = block_events(index);
  const size_t set = (pair.next_set + occurrence * pair.calls) % pair.sides[side].traces.size();
  // What comes before a cold call is the same for every call of either side, so neither meets what the other left.
  if (pair.mode == Mode::cold) flush_code();
  if (pair.mode == Mode::cold_data) call(pair, side, set);
  if (pair.mode == Mode::cold || pair.mode == Mode::cold_data) flush_data();
  if (clock == Clock::stamps) stamp(2 * index);
  else CU(cuEventRecord, block.start, stream_.get());
  call(pair, side, set);
  if (clock == Clock::stamps) stamp(2 * index + 1);
  else CU(cuEventRecord, block.stop, stream_.get());
}

Timing::Group Timing::run_group(Pair& pair, Clock clock, const std::string& pattern, double gate_ms) {
  Group group;
  const double started = now_us();
  // A candidate may have set lines of the L2 aside for itself: they return to ordinary use before each group.
  if (resets_persisting_) check(driver().cuCtxResetPersistingL2Cache(), "cuCtxResetPersistingL2Cache");
  block_events(pattern.size() - 1);  // made before the gate is closed
  const bool gate = gate_ms > 0 && gate_failures_ < most_gate_failures;
  size_t seen[2] = {0, 0};
  if (gate) close_gate(gate_ms);
  try {
    for (size_t i = 0; i < pattern.size(); i++) {
      const int side = pattern[i] == 'A' ? 0 : 1;
      enqueue(pair, side, seen[side]++, clock, i);
    }
  } catch (...) {
    open_gate();
    throw;
  }
  if (gate) open_gate();
  const bool kept = settle();
  group.drained = idle(session_.lanes);
  CU(cuCtxSynchronize);
  group.gated = gate && kept;
  if (gate && !kept) gate_failures_++;
  if (clock == Clock::stamps) group.us = stamped_us(pattern.size());
  else
    for (size_t i = 0; i < pattern.size(); i++) group.us.push_back(elapsed_us(block_events(i)));
  for (double& us : group.us) us /= static_cast<double>(pair.calls);
  pair.next_set = (pair.next_set + std::max(seen[0], seen[1]) * pair.calls) % pair.sides[0].traces.size();
  group.host_us = now_us() - started;
  return group;
}

void Timing::time(const std::string& name, Clock clock, double gate_ms, const std::vector<std::string>& patterns, Object& answer) {
  const auto pair = pairs_.find(name);
  if (pair == pairs_.end()) throw BadCommand("there is no pair `" + name + "`");
  if (patterns.size() > most_groups) throw BadCommand("at most " + std::to_string(most_groups) + " groups at once");
  for (const std::string& pattern : patterns)
    if (pattern.empty() || pattern.size() > most_pattern || pattern.find_first_not_of("AB") != std::string::npos)
      throw BadCommand("a PATTERN is 1 to " + std::to_string(most_pattern) + " letters A and B");
  std::vector<std::string> groups;
  for (const std::string& pattern : patterns) {
    const Group group = run_group(pair->second, clock, pattern, gate_ms);
    std::vector<std::string> times;
    for (const double us : group.us) {
      char text[32];
      snprintf(text, sizeof text, "%.5f", us);
      times.emplace_back(text);
    }
    Object one;
    one.raw("us", array(times)).add("gated", group.gated).add("drained", group.drained).add("host_us", group.host_us);
    groups.push_back(one.text());
  }
  answer.raw("groups", array(groups)).add("gate_failures", gate_failures_);
}

namespace {

Timing& timing(Session& session) {
  if (!session.timing) throw BadCommand("the executor's device kernels are not loaded: `kernels PATH` comes first");
  return *static_cast<Timing*>(session.timing.get());
}

void kernels(Session& session, Words& words, Object& answer) {
  const std::string path = words.text("PATH");
  words.end();
  if (session.timing) throw BadCommand("the device kernels are loaded already");
  const auto made = std::make_shared<Timing>(session, path);
  made->describe(answer);
  session.timing = made;
}

void preheat(Session& session, Words& words, Object& answer) {
  const auto limit = words.number("MOST_MS", most_ms), least = words.number("LEAST_MS", most_ms);
  words.end();
  timing(session).preheat(static_cast<double>(limit), static_cast<double>(least), answer);
}

void random(Session& session, Words& words, Object&) {
  const auto to = words.address("ADDRESS");
  const auto elements = words.number("ELEMENTS", uint64_t{1} << 40);
  const auto seed = static_cast<unsigned>(words.number("SEED", UINT32_MAX));
  words.end();
  timing(session).random(to, elements, seed);
}

void poison(Session& session, Words& words, Object&) {
  const auto to = words.address("ADDRESS");
  const auto bytes = words.number("BYTES");
  const auto byte = static_cast<unsigned char>(words.number("BYTE", 255));
  words.end();
  timing(session).poison(to, bytes, byte);
}

void touch(Session& session, Words& words, Object&) {
  const auto from = words.address("ADDRESS");
  const auto bytes = words.number("BYTES");
  words.end();
  if (from % 16) throw BadCommand("ADDRESS is a multiple of 16");
  timing(session).touch(from, bytes);
}

void pair(Session& session, Words& words, Object& answer) {
  const std::string name = words.text("NAME");
  const Timing::Mode mode = mode_of(words.next("MODE"));
  const auto calls = static_cast<size_t>(words.number("CALLS", most_calls));
  auto a = split(words.next("traces of A")), b = split(words.next("traces of B"));
  words.end();
  timing(session).make_pair(name, mode, calls, std::move(a), std::move(b), answer);
}

void unpair(Session& session, Words& words, Object&) {
  const std::string name = words.text("NAME");
  words.end();
  timing(session).drop_pair(name);
}

void time_by(Timing::Clock clock, Session& session, Words& words, Object& answer) {
  const std::string name = words.text("NAME");
  const auto gate_ms = words.number("GATE_MS", most_ms);
  std::vector<std::string> patterns;
  do patterns.push_back(words.text("PATTERN"));
  while (words.more());
  timing(session).time(name, clock, static_cast<double>(gate_ms), patterns, answer);
}

void time(Session& session, Words& words, Object& answer) { time_by(Timing::Clock::events, session, words, answer); }
void stamp(Session& session, Words& words, Object& answer) { time_by(Timing::Clock::stamps, session, words, answer); }

}  // namespace

void add_timing_commands(Commands& commands) {
  commands.add("kernels", kernels)
      .add("preheat", preheat)
      .add("random", random)
      .add("poison", poison)
      .add("touch", touch)
      .add("pair", pair)
      .add("unpair", unpair)
      .add("time", time)
      .add("stamp", stamp);
  commands.add("overhead", [](Session& session, Words& words, Object& answer) { words.end(), timing(session).overhead(answer); });
  commands.add("bandwidth", [](Session& session, Words& words, Object& answer) { words.end(), timing(session).bandwidth(answer); });
}

}  // namespace cudanalyst::executor
