#include "order.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "race.hpp"

namespace cudanalyst::order {
namespace {

using Clocks = std::map<uint64_t, uint32_t>;  // by stream: what it did at an earlier clock is known to come before

struct StreamOrder {
  Clocks known;
  uint32_t last = 0;  // clock behind its last operation
  bool blocking = true;
};

struct StreamMemory {
  uint64_t stream;
  uint32_t clock;                        // of the allocation
  std::map<uint64_t, uint32_t> used_by;  // stream -> clock of the last use
};

struct State {
  std::map<uint64_t, StreamOrder> streams;
  std::map<const void*, Clocks> events;
  Clocks host;
  std::vector<Operation> operations;  // by clock; what the host waited for is dropped
  Clocks now;                         // of the operation in progress
  uint64_t stream = 0;
  uint32_t begin = 0, floor = 0;
  std::map<uint64_t, StreamMemory> memory;
};
State& state() {
  static State* const instance = new State;
  return *instance;
}

void merge(Clocks& into, const Clocks& from) {
  for (const auto& [stream, clock] : from) into[stream] = std::max(into[stream], clock);
}

Clocks known_after(const StreamOrder& s, uint64_t stream) {
  Clocks result = s.known;
  result[stream] = std::max(result[stream], s.last);
  return result;
}

// What comes before the next operation of a stream.
Clocks known_to_next(uint64_t stream) {
  State& all = state();
  StreamOrder& s = all.streams[stream];
  merge(s.known, all.host);
  if (stream == 0) {
    for (const auto& [id, other] : all.streams)
      if (id && other.blocking) merge(s.known, known_after(other, id));
  } else if (s.blocking) {
    merge(s.known, known_after(all.streams[0], 0));
  }
  return s.known;
}

bool covers(const Clocks& known, uint64_t stream, uint32_t clock) {
  const auto found = known.find(stream);
  return found != known.end() && clock < found->second;
}

}  // namespace

bool watching() { return (config().checks & (racecheck | memcheck)) != 0; }

void begin(uint64_t stream, bool blocking, const std::string& what) {
  State& s = state();
  s.streams[stream].blocking = blocking;
  s.now = known_to_next(stream);
  s.stream = stream;
  s.begin = s.floor = ++race().clock;
  for (const auto& [id, other] : s.streams) {
    const uint32_t known = s.now[id];
    if (id != stream && other.last > known) s.floor = std::min(s.floor, known);
  }
  constexpr size_t most = 8192;
  if (s.operations.size() >= most) s.operations.erase(s.operations.begin(), s.operations.begin() + most / 2);
  s.operations.push_back({s.begin, stream, what, nullptr});
}

void runs(const Program& program) {
  if (state().operations.empty()) return;
  state().operations.back().program = &program;
  state().operations.back().what = "the kernel `" + program.kernel + "`";
}

void end() {
  State& s = state();
  s.streams[s.stream].last = ++race().clock;
}

void record(const void* event, uint64_t stream) {
  const Clocks known = known_to_next(stream);
  state().events[event] = known;
  auto& own = state().events[event][stream];
  own = std::max(own, state().streams[stream].last);
}

void wait(uint64_t stream, const void* event) {
  if (const auto found = state().events.find(event); found != state().events.end()) merge(state().streams[stream].known, found->second);
}

void host_waited_for_stream(uint64_t stream) {
  known_to_next(stream);
  merge(state().host, known_after(state().streams[stream], stream));
}

void host_waited_for_event(const void* event) {
  if (const auto found = state().events.find(event); found != state().events.end()) merge(state().host, found->second);
}

void host_waited_for_all() {
  State& s = state();
  for (const auto& [id, stream] : s.streams) s.host[id] = std::max(s.host[id], stream.last);
  s.operations.clear();
}

bool concurrent() { return state().floor < state().begin; }
uint32_t floor(uint32_t begin) { return concurrent() ? state().floor : begin; }

const Operation* operation_at(uint32_t clock) {
  const auto& all = state().operations;
  const auto after = std::upper_bound(all.begin(), all.end(), clock, [](uint32_t c, const Operation& o) { return c < o.begin; });
  return after == all.begin() ? nullptr : &*std::prev(after);
}

bool before(uint32_t clock) {
  const Operation* o = operation_at(clock);
  return !o || o->stream == state().stream || covers(state().now, o->stream, clock);
}

bool several_streams() { return state().streams.size() > 1; }

void allocated(uint64_t address, uint64_t stream, bool blocking) {
  begin(stream, blocking, "cudaMallocAsync");
  state().memory[address] = {stream, state().begin, {}};
  end();
}

void freed(uint64_t address, uint64_t stream, bool blocking) {
  begin(stream, blocking, "cudaFreeAsync");
  State& s = state();
  if (const auto found = s.memory.find(address); found != s.memory.end()) {
    for (const auto& [user, clock] : found->second.used_by) {
      if (user == stream || covers(s.now, user, clock)) continue;
      const Operation* o = operation_at(clock);
      report_host_finding("use_after_free", memory::describe(address),
                          "cudaFreeAsync frees " + memory::describe(address) + " while " + (o ? o->what : "an operation") +
                              " in another stream may still use it: let the stream wait for an event behind that");
    }
    s.memory.erase(found);
  }
  end();
}

bool used_before_allocation(uint64_t address) {
  State& s = state();
  const auto found = s.memory.find(address);
  if (found == s.memory.end()) return false;
  StreamMemory& m = found->second;
  m.used_by[s.stream] = s.begin;
  return m.stream != s.stream && !covers(s.now, m.stream, m.clock);
}

}  // namespace cudanalyst::order
