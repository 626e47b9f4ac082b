// What the runner asks of the engine beyond CUDA. That it is there is how the runner knows which runtime it has loaded.
#pragma once
#include <cuda_runtime_api.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace cudanalyst {

namespace record {
struct Table;
struct Set;

// Instead of execution (TRACE.md).
struct RecordInterface {
  // From then on nothing is executed in this process. nullptr: `problem` says why not; `taken`: something of this process lies
  // where the table's buffers are, which another start may mend.
  const Table* (*open)(const char* path, std::string& problem, bool& taken);
  // Around each call of solve. What comes before the first is `init`'s.
  void (*begin_call)(cudaStream_t stream, const Set& set);
  // The trace of init, or of the call. `exception`: what was thrown, or null.
  std::string (*end_call)(int status, const std::string& exception);
  bool (*anything)();  // whether the trace has an operation or a refusal
  bool (*refused)();
  pid_t (*fork_call)();                     // fork, after which the child may go on with CUDA
  std::vector<std::string> (*variables)();  // that host code has registered
};
const RecordInterface* record_interface();
}  // namespace record

constexpr int runner_interface_version = 3;

struct RunnerInterface {
  int version;
  void (*name_buffer)(void* buffer, const char* name);
  // Around each call of solve, with the stream that it is given. The end's text is the contract's first violation, or null.
  void (*begin_call)(cudaStream_t stream);
  const char* (*end_call)();
  void (*report_call)(int index, const char* status, int value, int cuda_error, const char* message);
  // What was read back of a buffer, so that it can be told from what a candidate puts in its place.
  void (*report_download)(int index, const char* buffer, const char* contents, size_t bytes);
  void (*finish)();  // writes the report's end
  const record::RecordInterface* recording;
};

}  // namespace cudanalyst

// Answers once: the runner asks before it loads the candidate, which then gets null. From then on the report ends only by `finish`, and
// what a candidate must not do is refused.
extern "C" const cudanalyst::RunnerInterface* cudanalyst_engine(void);
