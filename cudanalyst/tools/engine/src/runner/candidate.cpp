#include "candidate.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "native.hpp"

namespace cudanalyst::runner {

void leave(int status, const std::string& message) {
  std::fprintf(stderr, "cudanalyst-runner: %s\n", message.c_str());
  std::_Exit(status);
}

namespace {

// The linker would take any libcudart.so.13, NVIDIA's too, and both are right in their place; here it must be the engine.
const RunnerInterface& find_engine() {
  auto engine = reinterpret_cast<const RunnerInterface* (*)()>(dlsym(RTLD_DEFAULT, "cudanalyst_engine"));
  void* runtime = dlsym(RTLD_DEFAULT, "cudaMalloc");
  Dl_info of_engine{}, of_runtime{};
  if (!engine || !runtime || !dladdr(reinterpret_cast<void*>(engine), &of_engine) || !dladdr(runtime, &of_runtime) ||
      of_engine.dli_fbase != of_runtime.dli_fbase)
    leave(bad_runtime, "the CUDA runtime that was loaded is not the CPU engine");
  const RunnerInterface* found = engine();
  if (!found || found->version != runner_interface_version) leave(bad_runtime, "the CPU engine is of another version than this runner");
  return *found;
}

// Native runs are NVIDIA's runtime or nothing.
const RunnerInterface& without_engine() {
  if (dlsym(RTLD_DEFAULT, "cudanalyst_engine"))
    leave(bad_runtime, "the CPU engine was loaded in place of NVIDIA's CUDA runtime; set LD_LIBRARY_PATH to the toolkit's libraries");
  return native_interface();
}

// The engine has read its settings; a candidate has no use for them.
void clear_settings() {
  constexpr std::string_view prefix = "CUDANALYST_";
  std::vector<std::string> names;
  for (char** entry = environ; *entry; entry++)
    if (std::string_view(*entry).starts_with(prefix)) names.emplace_back(*entry, std::strcspn(*entry, "="));
  for (auto& name : names) {
    char* value = std::getenv(name.c_str());
    explicit_bzero(value, std::strlen(value));
    unsetenv(name.c_str());
  }
}

}  // namespace

const RunnerInterface& take_engine(bool native) {
  const RunnerInterface& engine = native ? without_engine() : find_engine();
  clear_settings();
  return engine;
}

Candidate load(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) leave(bad_library, std::string("the candidate cannot be loaded: ") + dlerror());
  Candidate candidate{dlsym(library, "solve"), dlsym(library, "workspace_bytes"), dlsym(library, "init")};
  if (!candidate.solve) leave(bad_library, "the candidate exports no `solve`; define extern \"C\" int solve(..., cudaStream_t stream)");
  // Two runtimes in one process would mean that the candidate's launches go elsewhere.
  if (void* own = dlsym(library, "cudaMalloc"); own && own != dlsym(RTLD_DEFAULT, "cudaMalloc"))
    leave(bad_library, "the candidate is linked to another CUDA runtime (cudart must not be static)");
  return candidate;
}

Arguments size_arguments(const Sizes& sizes) {
  Arguments arguments;
  for (auto& [name, size] : sizes) arguments.add_integer(static_cast<uint64_t>(size));
  return arguments;
}

void add_value(Arguments& arguments, const Parameter& parameter, const std::string& text) {
  char* end = nullptr;
  switch (parameter.kind) {
    case Parameter::Kind::float32: arguments.add_float(std::strtof(text.c_str(), &end)); break;
    case Parameter::Kind::float64: arguments.add_double(std::strtod(text.c_str(), &end)); break;
    case Parameter::Kind::integer32: arguments.add_integer(static_cast<uint32_t>(std::strtol(text.c_str(), &end, 10))); break;
    default: arguments.add_integer(static_cast<uint64_t>(std::strtoll(text.c_str(), &end, 10)));
  }
  if (text.empty() || *end) throw std::runtime_error("value of " + parameter.name + ": `" + text + "` is not a number");
}

}  // namespace cudanalyst::runner
