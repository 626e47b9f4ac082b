#pragma once
#include <mutex>

#include "../exec/core.hpp"
#include "../isa/decode.hpp"

namespace cudanalyst {

class Kernel {
 public:
  Program* program();  // decoded on first use; nullptr when the body is malformed (error says why)
  Module* module = nullptr;
  ptx::Function* function = nullptr;
  KernelInfo info;
  std::string error;

 private:
  std::unique_ptr<Program> built;
  std::mutex mutex;
};

class Module {
 public:
  ~Module();
  std::unique_ptr<ptx::Unit> unit;
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::unordered_map<std::string, Kernel*> kernel_by_name;
  std::vector<uint64_t> owned;
};

}  // namespace cudanalyst
