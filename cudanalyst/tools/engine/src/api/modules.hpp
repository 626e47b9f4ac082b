// Loaded device code: images (PTX), the kernels and variables in them, and what host code registered them under.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api.hpp"
#include "backend.hpp"
#include "fatbin.hpp"

namespace cudanalyst {

struct Image;

// A kernel as the API knows it; cudaFunction_t, cudaKernel_t, CUfunction and CUkernel all point to one.
struct Function {
  Image* image = nullptr;
  std::string symbol;
  Kernel* kernel = nullptr;            // set once the image is loaded, unless
  const KernelFacts* facts = nullptr;  // the code is elsewhere
  int max_dynamic_shared = -1;         // what cudaFuncSetAttribute allowed, or -1
  int carveout = -1;
  int nonportable_cluster = 0;
  int cluster[3] = {};  // what cudaFuncSetAttribute requires, or 0
  int cluster_policy = 0;

  const KernelInfo& info() const { return facts ? facts->info : cudanalyst::info(*kernel); }
  int registers() const;  // of the device's own machine code where that is embedded, else 0: not known
  size_t constant_bytes() const;
  size_t local_bytes() const;  // of the device's own machine code where that is embedded
  int ptx_version() const;
  int binary_version() const;
  size_t static_shared() const { return info().static_shared_bytes; }
  int max_threads() const;
  int max_dynamic() const;  // bytes that a launch may ask for
  size_t argument_bytes() const;
};

// One container of device code. PTX is decoded when the first kernel or variable is wanted.
struct Image {
  std::vector<const void*> containers;
  std::string text;  // PTX handed over by itself
  std::shared_ptr<Module> module;
  std::map<std::string, fatbin::Resources> resources;
  bool loaded = false;
  int error = 0;
  struct Managed {
    void** host;
    std::string symbol;
  };
  std::vector<Managed> managed;
  std::vector<std::unique_ptr<Function>> functions;

  int load();
  // The function of that name, or nullptr; `error` says why.
  Function* function(std::string_view symbol, int& error);
  int variable(std::string_view symbol, Symbol& found);
};

namespace modules {
// Of registered host code.
int function_for(const void* host_or_handle, Function*& found);
int variable_for(const void* host, Symbol& found);
// By the driver API and the library API: PTX text, a container, or nvcc's wrapper. nullptr sets `error`.
Image* load(const void* data, int& error, bool lazily = false);
Image* find(const void* handle);    // nullptr unless it is an image
const std::string& last_problem();  // of the last load that failed
void unload(Image* image);
bool is_function(const void* handle);
bool is_managed_variable(const void* pointer);
std::vector<std::string> variable_names();  // of registered host code, each once
}  // namespace modules

}  // namespace cudanalyst
