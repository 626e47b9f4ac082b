// Beginning and end of the engine in a process.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "api.hpp"
#include "contract.hpp"
#include "errors.hpp"
#include "runner_interface.hpp"
#include "streams.hpp"

namespace cudanalyst {
namespace {

std::atomic<bool> forked = false;  // a GPU's context does not survive fork in the child either
std::atomic<bool> by_runner = false, runner_done = false;
pid_t owner = 0;

void write_end() {
  if (getpid() != owner || forked) return;
  // A candidate that leaves the process by itself has not ended in good order.
  if (by_runner && !runner_done) return;
  finish_report();
  std::string line = R"({"type":"end","cuda_error":)" + std::to_string(errors::left_behind()) + R"(,"cuda_error_name":)";
  append_json_string(line, errors::name(errors::left_behind()));
  report_line(line + "}");
}

// Before any of the program's own static objects, so that the end comes after their destructors.
__attribute__((constructor)) void start() {
  owner = getpid();
  std::atexit(write_end);
  pthread_atfork([] { api_mutex().lock(); }, [] { api_mutex().unlock(); },
                 [] {
                   // Owned by a thread of the parent, so it cannot be unlocked here.
                   new (&api_mutex()) std::recursive_mutex;
                   forked = true;
                 });
}

}  // namespace

int enter() {
  if (forked) return cudaErrorInitializationError;
  return errors::poisoned();
}

}  // namespace cudanalyst

using namespace cudanalyst;

CUDANALYST_API int cudanalyst_engine(void) {
  by_runner = true;
  return engine_interface_version;
}

CUDANALYST_API void cudanalyst_name_buffer(void* buffer, const char* name) { memory::rename(reinterpret_cast<uint64_t>(buffer), name); }

CUDANALYST_API void cudanalyst_begin_call(cudaStream_t stream) {
  Guard guard(api_mutex());
  if (Stream* main = streams::find(stream)) contract::begin(*main);
}

CUDANALYST_API const char* cudanalyst_end_call(void) {
  Guard guard(api_mutex());
  static thread_local std::string violation;
  violation = contract::end();
  return violation.empty() ? nullptr : violation.c_str();
}

CUDANALYST_API void cudanalyst_report_call(int index, const char* status, int value, int cuda_error, const char* message) {
  std::string line = R"({"type":"call","index":)" + std::to_string(index) + R"(,"status":)";
  append_json_string(line, status);
  line += R"(,"value":)" + std::to_string(value) + R"(,"cuda_error":)" + std::to_string(cuda_error) + R"(,"cuda_error_name":)";
  append_json_string(line, errors::name(cuda_error));
  line += R"(,"message":)";
  if (message) append_json_string(line, message);
  else line += "null";
  report_line(line + "}");
}

CUDANALYST_API int cudanalyst_device_error(void) { return errors::fault(); }

CUDANALYST_API void cudanalyst_finish(void) { runner_done = true; }
