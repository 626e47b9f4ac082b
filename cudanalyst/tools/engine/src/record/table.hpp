// What the recorder is told (TRACE.md): the device, the module's kernels and variables, and what each call of solve is given.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "api/backend.hpp"
#include "runner/parameters.hpp"

namespace cudanalyst::record {

struct Range {
  std::string name;
  uint64_t address = 0;
  size_t bytes = 0;
};

// One call of solve.
struct Set {
  std::map<std::string, Range> buffers;
  std::map<std::string, std::string> values;
};

struct Table {
  std::string library, device = "NVIDIA GPU";
  std::map<int, int> attributes;
  size_t memory_bytes = 0;
  ModuleTable modules;
  Range arena{"memory of init", 0, 0}, workspace{"workspace", 0, 0};
  runner::Sizes sizes;
  std::vector<runner::Parameter> parameters;
  std::vector<Set> sets;
};

// Throws std::runtime_error that names the line and what is wrong with it.
Table read_table(const std::string& path);

}  // namespace cudanalyst::record
