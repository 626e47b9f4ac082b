// Runs a candidate on NVIDIA's own runtime, where there is no engine to ask: a call that cannot be recorded still has to be run.
#pragma once
#include "api/runner_interface.hpp"

namespace cudanalyst::runner {

// Reads the settings (so before they are cleared) and starts the report.
const RunnerInterface& native_interface();

}  // namespace cudanalyst::runner
