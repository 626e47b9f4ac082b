#include "modules.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "contract.hpp"
#include "device.hpp"
#include "errors.hpp"

namespace cudanalyst {
namespace {

struct Registered {
  Image* image;
  std::string symbol;
  Function* function = nullptr;
};

// Never destroyed: programs call the API from their own destructors.
struct Registry {
  std::map<const void*, Registered> functions, variables;
  std::set<const void*> handles;
  std::map<const Image*, std::unique_ptr<Image>> images;
  std::vector<std::unique_ptr<Image>> unloaded;
};

Registry& registry() {
  static auto& instance = *new Registry;
  return instance;
}

Image* add_image(std::unique_ptr<Image> image) {
  Image* at = image.get();
  registry().images[at] = std::move(image);
  return at;
}

std::string problem_of_load;

// What a GPU says of code that it cannot run, kernels and variables alike.
int refuse_image(const std::string& problem) {
  problem_of_load = problem;
  unsupported("module", "device code", problem.c_str());
  return cudaErrorNoKernelImageForDevice;
}

int number_after(std::string_view text, std::string_view word) {
  size_t at = text.find(word);
  if (at == std::string_view::npos) return 0;
  at = text.find_first_of("0123456789", at + word.size());
  return at == std::string_view::npos ? 0 : std::atoi(std::string(text.substr(at, 8)).c_str());
}

// Of PTX as a whole, before it is read: the error of the driver.
int what_is_wrong(std::string_view ptx) {
  constexpr int newest_version = 9;  // of CUDA 13.0
  if (ptx.find(".version") == std::string_view::npos) return cudaErrorInvalidKernelImage;
  if (number_after(ptx, ".version") > newest_version) return cudaErrorUnsupportedPtxVersion;
  return number_after(ptx, ".target") > device::architecture() ? static_cast<int>(cudaErrorInvalidPtx) : 0;
}

}  // namespace

int Function::registers() const {
  if (facts) return facts->registers;
  auto at = image->resources.find(symbol);
  return at == image->resources.end() ? 0 : at->second.registers;
}

size_t Function::constant_bytes() const { return facts ? facts->constant_bytes : cudanalyst::constant_bytes(*image->module); }
size_t Function::local_bytes() const {
  if (facts) return facts->info.local_bytes;
  auto at = image->resources.find(symbol);
  return at == image->resources.end() || at->second.local_bytes < 0 ? info().local_bytes : static_cast<size_t>(at->second.local_bytes);
}
int Function::ptx_version() const { return facts ? facts->ptx_version : device::architecture(); }
int Function::binary_version() const { return facts ? facts->binary_version : device::architecture(); }

int Function::max_threads() const {
  if (facts) return facts->max_threads;
  const KernelInfo& about = info();
  int most = device::attribute(cudaDevAttrMaxThreadsPerBlock);
  if (about.max_threads) most = std::min<int>(most, about.max_threads);
  if (int each = (registers() + 7) / 8 * 8) most = std::min(most, device::attribute(cudaDevAttrMaxRegistersPerBlock) / (each * 32) * 32);
  return most;
}

int Function::max_dynamic() const {
  if (max_dynamic_shared >= 0) return max_dynamic_shared;
  return std::max(0, device::attribute(cudaDevAttrMaxSharedMemoryPerBlock) - static_cast<int>(static_shared()));
}

size_t Function::argument_bytes() const {
  size_t end = 0;
  for (const Parameter& parameter : info().parameters) end = std::max(end, parameter.offset + parameter.bytes);
  return end;
}

int Image::load() {
  if (loaded) return error;
  loaded = true;
  if (backend().modules()) return error = success;
  std::string_view ptx = text;
  std::string message;
  if (!containers.empty()) {
    std::vector<std::string_view> texts;
    std::string problem;
    for (const void* container : containers) {
      fatbin::Contents contents = fatbin::read(container, device::architecture());
      resources.insert(contents.resources.begin(), contents.resources.end());
      if (!contents.ptx.empty()) {
        texts.push_back(contents.ptx);
      } else if (problem.empty()) {
        problem = contents.problem;
      }
    }
    if (texts.empty()) return error = refuse_image(problem);
    if (texts.size() > 1) text = link_ptx(texts);  // of -rdc=true: a text for each file
    ptx = texts.size() > 1 ? std::string_view(text) : texts[0];
  }
  if (const int kind = what_is_wrong(ptx)) {
    problem_of_load = "the PTX is for another device, of a newer version, or no PTX";
    return error = kind;
  }
  module = load_ptx(ptx, message);
  if (!module) {
    problem_of_load = message;
    unsupported("module", "PTX", message.c_str());
    return error = cudaErrorInvalidPtx;
  }
  for (const Managed& variable : managed)
    if (auto symbol = find_variable(*module, variable.symbol)) *variable.host = reinterpret_cast<void*>(symbol->address);
  return error = success;
}

Function* Image::function(std::string_view symbol, int& failure) {
  failure = load();
  if (failure) return nullptr;
  for (auto& known : functions)
    if (known->symbol == symbol) return known.get();
  auto made = std::make_unique<Function>();
  made->image = this;
  made->symbol = symbol;
  if (const ModuleTable* table = backend().modules()) {
    if (auto at = table->kernels.find(symbol); at != table->kernels.end()) made->facts = &at->second;
    else backend().refused(Refusal::unrecordable, symbol, "is a kernel that is not in the module that was built from the candidate");
  } else {
    made->kernel = find_kernel(*module, symbol);
  }
  if (!made->facts && !made->kernel) {
    failure = invalid_device_function;
    return nullptr;
  }
  registry().handles.insert(made.get());
  functions.push_back(std::move(made));
  return functions.back().get();
}

int Image::variable(std::string_view symbol, Symbol& found) {
  if (int failure = load()) return failure;
  if (const ModuleTable* table = backend().modules()) {
    if (auto known = table->variables.find(symbol); known != table->variables.end()) return found = known->second, success;
    backend().refused(Refusal::unrecordable, symbol, "is a variable that is not in the module that was built from the candidate");
    return invalid_symbol;
  }
  auto at = find_variable(*module, symbol);
  if (!at) return invalid_symbol;
  found = *at;
  return success;
}

namespace modules {

bool is_managed_variable(const void* pointer) {
  for (auto& [key, image] : registry().images)
    for (const Image::Managed& variable : image->managed)
      if (*variable.host == pointer) return true;
  return false;
}

int function_for(const void* key, Function*& found) {
  if (!key) return invalid_device_function;
  if (is_function(key)) {
    found = const_cast<Function*>(static_cast<const Function*>(key));
    return success;
  }
  auto at = registry().functions.find(key);
  if (at == registry().functions.end()) return cudaErrorInvalidResourceHandle;  // as an H200 says
  Registered& entry = at->second;
  int error = success;
  if (!entry.function) entry.function = entry.image->function(entry.symbol, error);
  found = entry.function;
  return error;
}

int variable_for(const void* host, Symbol& found) {
  auto at = registry().variables.find(host);
  // Host code names a managed variable by its address, which both sides share.
  if (at == registry().variables.end())
    for (auto& [key, image] : registry().images)
      for (const Image::Managed& variable : image->managed)
        if (*variable.host == host) return image->variable(variable.symbol, found);
  if (at == registry().variables.end()) return invalid_symbol;
  return at->second.image->variable(at->second.symbol, found);
}

Image* load(const void* data, int& error, bool lazily) {
  if (!data) {
    error = invalid_value;
    return nullptr;
  }
  if (backend().modules()) {
    error =
        unsupported("module", "loading a module", "device code that is loaded at run time is not in the module that was built from the candidate");
    return nullptr;
  }
  auto image = std::make_unique<Image>();
  image->containers = fatbin::unwrap(data);
  if (image->containers.empty()) {
    if (fatbin::is_fatbin(data)) {
      image->containers = {data};
    } else if (fatbin::is_elf(data)) {
      error = refuse_image("a cubin holds machine code only, and the CPU engine runs PTX; load the PTX");
      return nullptr;
    } else {
      image->text = static_cast<const char*>(data);
    }
  }
  if (!lazily) error = image->load();
  return error ? nullptr : add_image(std::move(image));
}

const std::string& last_problem() { return problem_of_load; }

Image* find(const void* handle) {
  auto at = registry().images.find(static_cast<const Image*>(handle));
  return at == registry().images.end() ? nullptr : at->second.get();
}

void unload(Image* image) {
  auto& known = registry();
  for (auto& function : image->functions) known.handles.erase(function.get());
  std::erase_if(known.functions, [&](auto& entry) { return entry.second.image == image; });
  std::erase_if(known.variables, [&](auto& entry) { return entry.second.image == image; });
  auto entry = known.images.extract(image);
  // What a profile or a check still has to tell of names its kernels.
  if (config().mode != Mode::run) known.unloaded.push_back(std::move(entry.mapped()));
}

bool is_function(const void* handle) { return registry().handles.contains(handle); }

std::vector<std::string> variable_names() {
  std::set<std::string> names;
  for (auto& [host, variable] : registry().variables) names.insert(variable.symbol);
  return {names.begin(), names.end()};
}

}  // namespace modules
}  // namespace cudanalyst

using namespace cudanalyst;

CUDANALYST_API void** __cudaRegisterFatBinary(void* wrapper) {
  Guard guard(api_mutex());
  auto image = std::make_unique<Image>();
  image->containers = fatbin::unwrap(wrapper);
  return reinterpret_cast<void**>(add_image(std::move(image)));
}

CUDANALYST_API void __cudaRegisterFatBinaryEnd(void**) {}

CUDANALYST_API void __cudaUnregisterFatBinary(void** handle) {
  Guard guard(api_mutex());
  // The image stays: launches that a profile still has to tell of name its kernels.
  Image* image = modules::find(handle);
  std::erase_if(registry().functions, [&](auto& entry) { return entry.second.image == image; });
  std::erase_if(registry().variables, [&](auto& entry) { return entry.second.image == image; });
}

// Called before the first use of a __managed__ variable, whose host side is a pointer to fill in.
CUDANALYST_API char __cudaInitModule(void** handle) {
  Guard guard(api_mutex());
  if (enter()) return 0;
  Image* image = modules::find(handle);
  if (!image) return 0;
  if (int error = image->load()) errors::set_last(error);
  return 1;
}

CUDANALYST_API void __cudaRegisterFunction(void** handle, const char* host, char*, const char* name, int, uint3*, uint3*, dim3*, dim3*, int*) {
  Guard guard(api_mutex());
  registry().functions[host] = {modules::find(handle), name};
}

CUDANALYST_API void __cudaRegisterVar(void** handle, char* host, char*, const char* name, int, size_t, int, int) {
  Guard guard(api_mutex());
  registry().variables[host] = {modules::find(handle), name};
}

CUDANALYST_API void __cudaRegisterManagedVar(void** handle, void** host, char*, const char* name, int, size_t, int, int) {
  Guard guard(api_mutex());
  Image* image = modules::find(handle);
  image->managed.push_back({host, name});
  contract::host_memory("a __managed__ variable");
  registry().variables[host] = {image, name};
}

CUDANALYST_API cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  return runtime_call([&]() -> int {
    if (!address) return invalid_value;
    Symbol found;
    if (int error = modules::variable_for(symbol, found)) return error;
    *address = reinterpret_cast<void*>(found.address);
    return success;
  });
}

CUDANALYST_API cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  return runtime_call([&]() -> int {
    Symbol found;
    if (int error = modules::variable_for(symbol, found)) return error;
    if (!bytes) return invalid_value;
    *bytes = found.bytes;
    return success;
  });
}

CUDANALYST_API cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  return runtime_call([&]() -> int {
    if (!kernel) return invalid_value;
    Function* found = nullptr;
    int error = modules::function_for(host, found);
    *kernel = reinterpret_cast<cudaKernel_t>(found);
    return error;
  });
}

CUDANALYST_API cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* host) { return __cudaGetKernel(kernel, host); }

CUDANALYST_API cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* symbol) {
  return runtime_call([&]() -> int {
    Function* found = nullptr;
    const int error = modules::function_for(symbol, found);
    if (function) *function = reinterpret_cast<cudaFunction_t>(found);
    return error == cudaErrorInvalidResourceHandle ? static_cast<int>(invalid_device_function) : error;
  });
}

CUDANALYST_API cudaError_t cudaFuncGetName(const char** name, const void* host) {
  return runtime_call([&]() -> int {
    Function* found = nullptr;
    if (int error = modules::function_for(host, found)) return error;
    return name ? (*name = found->symbol.c_str(), success) : invalid_value;
  });
}
