#include "contract.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "api.hpp"
#include "backend.hpp"
#include "streams.hpp"

namespace cudanalyst::contract {
namespace {

struct State {
  std::atomic<bool> candidate = false, watching = false, inside = false;
  std::thread::id runner;
  Stream* main = nullptr;
  uint64_t call = 0, uploaded = 0;
  Clock done;  // operations of each stream in this call
  std::string violation;
};

State& state() {
  static auto& instance = *new State;
  return instance;
}

// `text` goes on after the call's name. Native or recorded, what is refused here ends in the same words.
int refuse(const std::string& call, const std::string& text, Refusal kind = Refusal::contract) {
  if (state().violation.empty()) state().violation = call + text;
  backend().refused(kind, call, text);
  return not_supported;
}

// For the order of streams: where a call that could not be recorded came before (a capture, say), what follows may be in order all the same.
int refuse_order(const std::string& call, const std::string& text) { return backend().gave_up() ? not_supported : refuse(call, text); }

// Knowledge from an earlier call is void: that call has been waited for.
void renew(Stream& stream) {
  if (stream.call == state().call) return;
  stream.call = state().call;
  stream.forked = &stream == state().main;
  stream.clock.clear();
}

void merge(Clock& into, const Clock& other) {
  for (auto& [stream, operations] : other) into[stream] = std::max(into[stream], operations);
}

// Threads that the candidate started must not go on when its call has returned.
bool stray() { return state().watching && !state().inside && std::this_thread::get_id() != state().runner; }

int check_stream(const char* function, Stream& stream) {
  const std::string name = function;
  if (stray()) return refuse_order(name, " by a thread of the candidate while `solve` was not running: finish all host work before returning");
  if (!state().inside) return 0;
  if (stream.is_default())
    return refuse_order(name, " on the default stream: pass `stream`, the last parameter of solve (for a kernel, as the fourth launch argument)");
  renew(stream);
  return 0;
}

}  // namespace

void watch_candidate() { state().candidate = true; }

void begin(Stream& main) {
  State& now = state();
  now.watching = true;
  now.runner = std::this_thread::get_id();
  now.main = &main;
  now.call++;
  now.done.clear();
  now.uploaded = 0;
  now.inside = true;
  renew(main);
}

std::string end() {
  State& now = state();
  now.inside = false;
  for (auto& [stream, operations] : now.done)
    if (stream != now.main->id && now.main->clock[stream] < operations) {
      refuse_order("work on an own stream",
                   " is not joined: record an event after it and make `stream` wait (cudaEventRecord(e, own); cudaStreamWaitEvent(stream, e, 0)) "
                   "before solve returns");
      break;
    }
  return std::exchange(now.violation, {});
}

bool inside() { return state().inside; }

int host_wait(const char* function) {
  if (!inside()) return 0;
  return refuse(function, " waits on the host inside solve: remove it, work on `stream` is already ordered; the caller waits");
}

int allocation(const char* function) {
  if (!inside()) return 0;
  return refuse(function,
                " allocates or frees inside solve: export `size_t workspace_bytes(int64_t sizes...)` and use the workspace that is passed, or "
                "allocate in `init`");
}

int host_work(const char* function) {
  if (!inside()) return 0;
  return refuse(function, " is not allowed inside solve: only launches, copies, memsets and events, ordered on `stream`");
}

int read_back(const char* function) {
  // A recorder has no data to copy, in `init` either.
  if (!inside() && !(state().candidate && backend().recording())) return 0;
  if (!inside())
    return refuse(function, " copies to the host in `init`, which is recorded before anything runs: keep on the device what it computes",
                  Refusal::unrecordable);
  return refuse(function,
                " copies to the host inside solve: keep the decision on the device (host control that depends on device data is not allowed)");
}

// Results are the kernels' work: tables and descriptors fit in this, an answer computed on the host does not.
int upload(const char* function, size_t bytes) {
  constexpr uint64_t most = 64 << 10;
  if (!inside()) return 0;
  state().uploaded += std::min<uint64_t>(bytes, most + 1);
  if (state().uploaded <= most) return 0;
  return refuse(function, " copies more than 64 KB from the host in one call of solve: compute on the device, or upload tables in `init`");
}

int host_memory(const char* function) {
  if (!state().candidate) return 0;
  return refuse(function,
                " is memory that host code reaches too, and a candidate may use device memory only (none that is managed, pinned or registered): use "
                "cudaMalloc in `init`, or the workspace");
}

int lasting(const char* function) {
  if (!backend().recording()) return 0;
  return refuse(function, " changes the device for whatever runs after it: leave it out");
}

int work(const char* function, Stream& stream) {
  if (int error = check_stream(function, stream)) return error;
  if (!inside()) return 0;
  if (!stream.forked)
    return refuse_order(
        function, " on an own stream that does not follow `stream`: fork it first (cudaEventRecord(e, stream); cudaStreamWaitEvent(own, e, 0))");
  stream.clock[stream.id] = ++state().done[stream.id];
  return 0;
}

int record(const char* function, Event& event, Stream& stream) {
  if (int error = check_stream(function, stream)) return error;
  event.call = state().call;
  event.clock = stream.clock;
  event.forked = stream.forked;
  return 0;
}

int wait(const char* function, Stream& stream, const Event& event) {
  if (int error = check_stream(function, stream)) return error;
  if (!inside() || event.call != state().call) return 0;
  merge(stream.clock, event.clock);
  stream.forked = stream.forked || event.forked;
  return 0;
}

}  // namespace cudanalyst::contract
