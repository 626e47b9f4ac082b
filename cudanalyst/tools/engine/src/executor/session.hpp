// What the executor holds between commands: one context and all that is in it.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "trace.hpp"

namespace cudanalyst::executor {

struct Buffer {
  Allocation memory;
  size_t guard = 0;
  CUdeviceptr body() const { return memory.address() ? memory.address() + guard : 0; }
};

struct LoadedModule {
  Owned<CUmodule> handle;
  Kernels kernels;
};

class Session {
 public:
  CUdevice device = 0;
  // Declared before all that lives in it, so destroyed after.
  Owned<CUcontext> context;
  Owned<CUstream> stream;
  Lanes lanes;
  std::map<std::string, LoadedModule, std::less<>> modules;
  std::map<std::string, Buffer, std::less<>> buffers;
  std::map<std::string, Trace, std::less<>> traces;
  // What timing.cpp keeps in the context: a Timing.
  std::shared_ptr<void> timing;
  // The error that has broken the context, with its message: every later command answers it again.
  std::optional<CudaFailure> broken;

  // Drops all that lives in the context.
  void empty();
  void close();
  // Each throws a BadCommand that says what is missing.
  void need_context() const;
  LoadedModule& module(const std::string& slot);
  Kernel& kernel(LoadedModule& module, const std::string& symbol);
  Buffer& buffer(const std::string& name);
  Trace& trace(const std::string& id);
};

}  // namespace cudanalyst::executor
