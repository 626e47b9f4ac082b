// trace, forget, call.
#include <chrono>

#include "commands.hpp"

namespace cudanalyst::executor {
namespace {

void load(Session& session, Words& words, Object& answer) {
  const std::string id = words.text("ID");
  LoadedModule& module = session.module(words.text("SLOT"));
  const std::string path = words.text("PATH");
  words.end();
  if (session.traces.contains(id)) throw BadCommand("there is a trace `" + id + "` already");
  const auto [at, added] = session.traces.emplace(id, Trace(read_file(path), module.kernels));
  answer.add("operations", at->second.operations().size());
}

void forget(Session& session, Words& words, Object&) {
  const std::string id = words.text("ID");
  words.end();
  session.trace(id);
  session.traces.erase(id);
}

void call(Session& session, Words& words, Object& answer) {
  std::vector<std::pair<std::string, const Trace*>> traces;
  do {
    const std::string id = words.text("ID");
    traces.emplace_back(id, &session.trace(id));
  } while (words.more());
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  for (auto& [id, trace] : traces) {
    try {
      trace->enqueue(session.stream.get(), session.lanes);
      // The whole context: nothing of one call is left when the next begins.
      CU(cuCtxSynchronize);
    } catch (const CudaFailure& failure) { throw CudaFailure(failure.code, failure.name, "trace " + id + ": " + failure.what()); }
  }
  answer.add("microseconds", std::chrono::duration<double, std::micro>(Clock::now() - start).count());
}

}  // namespace

void add_replay_commands(Commands& commands) { commands.add("trace", load).add("forget", forget).add("call", call); }

}  // namespace cudanalyst::executor
