// A candidate's library: its functions, and how they are called.
#pragma once
#include <string>

#include "api/runner_interface.hpp"
#include "invoke.hpp"
#include "parameters.hpp"

namespace cudanalyst::runner {

constexpr int bad_request = 3, bad_library = 4, bad_runtime = 5;

[[noreturn]] void leave(int status, const std::string& message);

// The engine's interface, which it gives once; the settings in the environment are then cleared. Native: there must be no engine.
const RunnerInterface& take_engine(bool native = false);

struct Candidate {
  void* solve = nullptr;
  void* workspace_bytes = nullptr;
  void* init = nullptr;
};
Candidate load(const std::string& path);

Arguments size_arguments(const Sizes& sizes);
void add_value(Arguments& arguments, const Parameter& parameter, const std::string& text);

}  // namespace cudanalyst::runner
