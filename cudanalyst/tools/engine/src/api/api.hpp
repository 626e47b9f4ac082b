// What every file of the API layer shares: the CUDA declarations, the export macro, and how a call begins and ends.
#pragma once
// The declarations carry no visibility of their own; the library is built hidden, and what CUDA declares must be visible.
#pragma GCC visibility push(default)
#include <cuda.h>
#include <cuda_runtime_api.h>
#pragma GCC visibility pop

#include <mutex>

#include "engine.hpp"

#define CUDANALYST_API extern "C" __attribute__((visibility("default")))
// The per-thread default stream's variant of a function. Work runs when it is submitted, so both order it alike.
#define CUDANALYST_PER_THREAD(name, suffix) extern "C" __attribute__((visibility("default"), alias(#name))) decltype(name) name##suffix

namespace cudanalyst {

// One lock over the whole API: kernels run inside the call that launches them.
std::recursive_mutex& api_mutex();

using Guard = std::lock_guard<std::recursive_mutex>;

// First thing in a call that needs the device: sets the engine up, and gives the error that a fault has left for good, else 0.
int enter();
// The same for a runtime call, which also makes the primary context the thread's, and for a driver call, which needs a context.
int enter_runtime();
int enter_driver();
// Last thing in a runtime call: notes a failure as the thread's last error. `function` is the call's name.
cudaError_t finish(int error, const char* function = __builtin_FUNCTION());

// Runs the body of a runtime function under the lock unless the context is broken.
template <typename Body>
cudaError_t runtime_call(Body&& body, const char* function = __builtin_FUNCTION()) {
  Guard guard(api_mutex());
  if (int broken = enter_runtime()) return finish(broken, function);
  return finish(body(), function);
}

// The same for the driver API, whose failures do not touch the runtime's last error.
CUresult driver_error(int error);
template <typename Body>
CUresult driver_call(Body&& body) {
  Guard guard(api_mutex());
  if (int broken = enter_driver()) return driver_error(broken);
  return driver_error(body());
}

namespace lifecycle {
void expect_fork();  // the next child goes on with CUDA
}

// Something that this engine does not do: a line in the report, and the error for the caller to return.
int unsupported(const char* what, const char* name, const char* remedy);

}  // namespace cudanalyst
