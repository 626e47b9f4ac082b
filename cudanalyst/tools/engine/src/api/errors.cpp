#include "errors.hpp"

#include <algorithm>
#include <atomic>

#include "api.hpp"
#include "backend.hpp"

namespace cudanalyst::errors {
namespace {

thread_local int last_of_thread = 0;
std::atomic<int> last_of_process = 0;
std::atomic<int> broken = 0;  // the fault
std::atomic<int> answer = 0;  // what calls return because of it
std::atomic<int> not_executed = 0;

struct Reason {
  int error = 0;
  std::string kind, why;
  uint64_t address = 0;
};
thread_local Reason reason;

// Errors that say that a call was wrong.
bool is_misuse(int error) {
  switch (error) {
    case invalid_value:
    case invalid_configuration:
    case cudaErrorInvalidPitchValue:
    case invalid_symbol:
    case cudaErrorInvalidHostPointer:
    case cudaErrorInvalidDevicePointer:
    case cudaErrorInvalidMemcpyDirection:
    case cudaErrorMissingConfiguration:
    case invalid_device_function:
    case cudaErrorInvalidDevice:
    case cudaErrorInvalidResourceHandle:
    case cudaErrorHostMemoryAlreadyRegistered:
    case cudaErrorHostMemoryNotRegistered:
    case launch_out_of_resources:
    case cudaErrorCooperativeLaunchTooLarge:
    case cudaErrorInvalidClusterSize: return true;
    default: return false;
  }
}

struct Entry {
  int code;
  const char* name;
  const char* description;
};

constexpr Entry entries[] = {
#include "errors.inc"
};

const Entry* find(int error) {
  auto at = std::lower_bound(std::begin(entries), std::end(entries), error, [](const Entry& entry, int code) { return entry.code < code; });
  return at != std::end(entries) && at->code == error ? at : nullptr;
}

}  // namespace

void set_last(int error) {
  last_of_thread = error;
  last_of_process = error;
}

int peek_last() { return last_of_thread; }

int take_last() {
  int error = last_of_thread;
  // Cleared even when the context is broken, as seen on an H200: the next call sets it again.
  last_of_thread = 0;
  if (last_of_process == error) last_of_process = 0;
  return error;
}

void poison(int error) {
  int none = 0;
  if (broken.compare_exchange_strong(none, error)) answer = error;
}

int poisoned() { return answer; }
int fault() { return broken; }

void lose_device() {
  if (broken) answer = cudaErrorDevicesUnavailable;
}

bool is_fault(int error) { return error >= 700 && error <= 799 && error != launch_out_of_resources && error != cudaErrorCooperativeLaunchTooLarge; }

void note_not_executed(int error) {
  int none = 0;
  not_executed.compare_exchange_strong(none, error);
}

int because(int error, const char* kind, const std::string& why, uint64_t address) {
  if ((config().checks & memcheck) || backend().recording()) reason = {error, kind, why, address};
  return error;
}

void report_failure(int error, const char* function) {
  backend().failed(function, error, reason.error == error ? reason.why : "");
  if (!(config().checks & memcheck) || broken || !is_misuse(error)) return;
  std::string call = function;
  const bool launch = call.find("aunch") != std::string::npos;
  if (launch && call.starts_with("a ")) call[0] = 'A';
  const bool known = reason.error == error;
  std::string message = call + " failed with " + name(error) + " (" + description(error) + ")";
  if (known) message += ": " + reason.why;
  report_host_finding(known    ? reason.kind
                      : launch ? "invalid_launch"
                               : "api_error",
                      known && reason.address ? backend().describe(reason.address) : "", message);
  reason = {};
}

int left_behind() {
  if (broken) return broken;
  return not_executed ? not_executed : last_of_process;
}

const char* name(int error) {
  const Entry* entry = find(error);
  return entry ? entry->name : "unrecognized error code";
}

const char* description(int error) {
  const Entry* entry = find(error);
  return entry ? entry->description : "unrecognized error code";
}

}  // namespace cudanalyst::errors

namespace cudanalyst {

std::recursive_mutex& api_mutex() {
  static auto& mutex = *new std::recursive_mutex;
  return mutex;
}

cudaError_t finish(int error, const char* function) {
  if (error) {
    errors::set_last(error);
    errors::report_failure(error, function);
  }
  return static_cast<cudaError_t>(error);
}

CUresult driver_error(int error) {
  switch (error) {
    case cudaErrorInvalidConfiguration: return CUDA_ERROR_INVALID_VALUE;
    case cudaErrorInvalidSymbol: return CUDA_ERROR_NOT_FOUND;
    case cudaErrorInvalidDeviceFunction: return CUDA_ERROR_INVALID_HANDLE;
    case cudaErrorInvalidPitchValue:
    case cudaErrorInvalidMemcpyDirection:
    case cudaErrorInvalidHostPointer: return CUDA_ERROR_INVALID_VALUE;
    default: return static_cast<CUresult>(error);  // the two enumerations agree elsewhere
  }
}

int unsupported(const char* what, const char* name, const char* remedy) {
  std::string line = R"({"type":"unsupported","what":)";
  append_json_string(line, what);
  line += R"(,"name":)";
  append_json_string(line, name);
  line += R"(,"file":null,"line":null,"message":)";
  append_json_string(line, remedy);
  report_line(line + "}");
  backend().refused(Refusal::unrecordable, name, "is not among what can be recorded");  // the remedy is for this engine, and there may be a GPU
  errors::note_not_executed(not_supported);
  return not_supported;
}

}  // namespace cudanalyst

using namespace cudanalyst;

CUDANALYST_API cudaError_t cudaGetLastError() { return static_cast<cudaError_t>(errors::take_last()); }
CUDANALYST_API cudaError_t cudaPeekAtLastError() { return static_cast<cudaError_t>(errors::peek_last()); }
CUDANALYST_API const char* cudaGetErrorName(cudaError_t error) { return errors::name(error); }
CUDANALYST_API const char* cudaGetErrorString(cudaError_t error) { return errors::description(error); }

// Stands behind every function of the symbol lists that has no implementation (symbols.py writes the callers).
extern "C" __attribute__((visibility("hidden"))) int cudanalyst_refuse(const char* name) {
  Guard guard(api_mutex());
  if (int broken = enter()) return finish(broken);
  std::string remedy = std::string(name) + " is not implemented by the CPU engine; run on a GPU, or do without it";
  return finish(unsupported("function", name, remedy.c_str()));
}
