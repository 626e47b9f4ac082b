// Loads a candidate's library and calls its `solve` as a request says. Candidate and engine live in this process; whoever started it
// trusts neither what it prints nor what it reports.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string_view>

#include "buffers.hpp"
#include "invoke.hpp"
#include "request.hpp"

namespace cudanalyst::runner {
namespace {

constexpr int bad_request = 3, bad_library = 4;

[[noreturn]] void leave(int status, const std::string& message) {
  std::fprintf(stderr, "cudanalyst-runner: %s\n", message.c_str());
  std::_Exit(status);
}

// The linker would take any libcudart.so.13, NVIDIA's too, and both are right in their place; here it must be the engine.
const RunnerInterface& find_engine() {
  auto engine = reinterpret_cast<const RunnerInterface* (*)()>(dlsym(RTLD_DEFAULT, "cudanalyst_engine"));
  void* runtime = dlsym(RTLD_DEFAULT, "cudaMalloc");
  Dl_info of_engine{}, of_runtime{};
  if (!engine || !runtime || !dladdr(reinterpret_cast<void*>(engine), &of_engine) || !dladdr(runtime, &of_runtime) || of_engine.dli_fbase != of_runtime.dli_fbase)
    leave(bad_library, "the CUDA runtime that was loaded is not the CPU engine");
  const RunnerInterface* found = engine();
  if (!found || found->version != runner_interface_version) leave(bad_library, "the CPU engine is of another version than this runner");
  return *found;
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

struct Candidate {
  void* solve = nullptr;
  void* workspace_bytes = nullptr;
  void* init = nullptr;
};

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

Arguments size_arguments(const Request& request) {
  Arguments arguments;
  for (auto& [name, size] : request.sizes) arguments.add_integer(static_cast<uint64_t>(size));
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

class Run {
 public:
  Run(Request& request, const Candidate& candidate, const RunnerInterface& engine) : request_(request), candidate_(candidate), engine_(engine), buffers_(request, engine) {
    if (cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)) throw std::runtime_error("no stream");
  }

  // Before any input exists, and once: the place for allocations and tables of the candidate's own.
  bool init() {
    if (!candidate_.init) return true;
    int value = 0;
    try {
      value = invoke<int>(candidate_.init, size_arguments(request_));
    } catch (...) {
      return report(0, "solve_error", 0, cudaSuccess, "init threw an exception"), false;
    }
    if (const char* violation = engine_.end_call()) return report(0, "contract", value, cudaErrorNotSupported, violation), false;
    if (value) return report(0, "solve_error", value, cudaSuccess, "init returned a value other than 0"), false;
    return settle(0, 0);
  }

  bool call(size_t index) {
    buffers_.prepare(index);
    Arguments arguments = arguments_of(index);
    int value = 0;
    bool threw = false;
    cudaGetLastError();
    engine_.begin_call(stream_);
    try {
      value = invoke<int>(candidate_.solve, arguments);
    } catch (...) {
      threw = true;
    }
    const char* violation = engine_.end_call();
    const int number = static_cast<int>(index);
    if (violation) {
      cudaGetLastError();  // of the refusal: the call's status says it better
      return report(number, "contract", value, cudaErrorNotSupported, violation), true;
    }
    if (threw) return report(number, "solve_error", value, cudaSuccess, "solve threw an exception"), true;
    if (!settle(number, value)) return false;
    if (value) {
      report(number, "solve_error", value, cudaSuccess, "solve returned a value other than 0");
    } else {
      if (cudaError_t error = buffers_.download(index)) return report(number, "cuda_error", value, error, "copying the results back failed"), false;
      report(number, "ok", value, cudaSuccess, nullptr);
    }
    buffers_.release_old();
    return true;
  }

 private:
  void report(int index, const char* status, int value, cudaError_t error, const char* message) {
    engine_.report_call(index, status, value, error, message);
  }

  // Waits for the work, and gives any error that it left. False when the device is broken for good.
  bool settle(int index, int value) {
    cudaError_t error = cudaPeekAtLastError();
    const cudaError_t at_end = cudaStreamSynchronize(stream_);
    if (!error) error = at_end;
    if (!error) return true;
    report(index, "cuda_error", value, error, cudaGetErrorString(error));
    return false;
  }

  Arguments arguments_of(size_t index) {
    Arguments arguments;
    for (const Parameter& parameter : request_.parameters) {
      if (parameter.kind == Parameter::Kind::buffer) arguments.add_integer(reinterpret_cast<uint64_t>(buffers_.address(parameter.name)));
      else add_value(arguments, parameter, request_.calls[index].values.at(parameter.name));
    }
    if (request_.workspace && candidate_.workspace_bytes) {
      arguments.add_integer(reinterpret_cast<uint64_t>(workspace()));
      arguments.add_integer(workspace_bytes_);
    }
    arguments.add_integer(reinterpret_cast<uint64_t>(stream_));
    return arguments;
  }

  void* workspace() {
    if (!asked_) {
      asked_ = true;
      workspace_bytes_ = invoke<size_t>(candidate_.workspace_bytes, size_arguments(request_));
      if (cudaMalloc(&workspace_, workspace_bytes_)) throw std::runtime_error("a workspace of " + std::to_string(workspace_bytes_) + " bytes cannot be allocated");
      if (workspace_) engine_.name_buffer(workspace_, "workspace");
    }
    return workspace_;
  }

  const Request& request_;
  const Candidate& candidate_;
  const RunnerInterface& engine_;
  Buffers buffers_;
  cudaStream_t stream_ = nullptr;
  bool asked_ = false;
  void* workspace_ = nullptr;
  size_t workspace_bytes_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) leave(bad_request, "usage: cudanalyst-runner REQUEST");
  Request request;
  try {
    request = read_request(argv[1]);
    take_contents(request, argv[1]);
  } catch (const std::exception& error) {
    leave(bad_request, std::string(argv[1]) + ": " + error.what());
  }
  const RunnerInterface& engine = find_engine();
  clear_settings();
  const Candidate candidate = load(request.library);
  try {
    Run run(request, candidate, engine);
    if (run.init())
      for (size_t index = 0; index < request.calls.size(); index++)
        if (!run.call(index)) break;
  } catch (const std::exception& error) {
    leave(bad_request, error.what());
  }
  engine.finish();
  std::fflush(nullptr);
  // Neither destructors nor exit handlers of the candidate: its part is over.
  std::_Exit(0);
}

}  // namespace cudanalyst::runner

int main(int argc, char** argv) { return cudanalyst::runner::main(argc, argv); }
