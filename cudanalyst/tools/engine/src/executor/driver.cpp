#include "driver.hpp"

#include <dlfcn.h>

namespace cudanalyst::executor {
namespace {

Driver table;

std::string error_name(CUresult result) {
  const char* name = nullptr;
  return table.cuGetErrorName && !table.cuGetErrorName(result, &name) && name ? name : "CUDA error " + std::to_string(result);
}

}  // namespace

const Driver& driver() { return table; }

void load_driver(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw IoFailure(std::string("the driver cannot be loaded: ") + dlerror());
  std::string missing;
  const auto find = [&](const char* name) {
    void* address = dlsym(library, name);
    if (!address) missing += std::string(missing.empty() ? "" : ", ") + name;
    return address;
  };
#define X(name) table.name = reinterpret_cast<decltype(table.name)>(find(CUDANALYST_TEXT(name)));
  CUDANALYST_DRIVER(X)
#undef X
  if (!missing.empty()) throw IoFailure("the driver " + path + " is too old: it lacks " + missing + "; a driver of the 580 series or newer has them");
  table.cuCtxResetPersistingL2Cache = reinterpret_cast<decltype(table.cuCtxResetPersistingL2Cache)>(dlsym(library, "cuCtxResetPersistingL2Cache"));
  table.name_allocation = reinterpret_cast<decltype(table.name_allocation)>(dlsym(library, "cudanalyst_name_allocation"));
}

void check(CUresult result, const char* function) {
  if (result == CUDA_SUCCESS) return;
  const char* text = nullptr;
  const std::string name = error_name(result);
  std::string message = std::string(function) + ": " + name;
  if (!table.cuGetErrorString(result, &text) && text) message += std::string(": ") + text;
  throw CudaFailure(result, name, message);
}

}  // namespace cudanalyst::executor
