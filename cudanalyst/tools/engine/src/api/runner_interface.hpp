// What the runner asks of the engine beyond CUDA. That it is there is how the runner knows which runtime it has loaded.
#pragma once
#include <cuda_runtime_api.h>

namespace cudanalyst {

constexpr int runner_interface_version = 2;

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
};

}  // namespace cudanalyst

// Answers once: the runner asks before it loads the candidate, which then gets null. From then on the report ends only by `finish`, and
// what a candidate must not do is refused.
extern "C" const cudanalyst::RunnerInterface* cudanalyst_engine(void);
