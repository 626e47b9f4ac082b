// Loads a candidate's library and calls its `solve` as a request says. Candidate and engine live in this process; whoever started it
// trusts neither what it prints nor what it reports.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>

#include "buffers.hpp"
#include "candidate.hpp"
#include "record.hpp"
#include "request.hpp"

namespace cudanalyst::runner {
namespace {

class Run {
 public:
  Run(Request& request, const Candidate& candidate, const RunnerInterface& engine)
      : request_(request), candidate_(candidate), engine_(engine), buffers_(request, engine) {
    if (const cudaError_t error = cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking))
      throw std::runtime_error(std::string("no stream: ") + cudaGetErrorName(error));
  }

  // Before any input exists, and once: the place for allocations and tables of the candidate's own.
  bool init() {
    if (!candidate_.init) return true;
    int value = 0;
    try {
      value = invoke<int>(candidate_.init, size_arguments(request_.sizes));
    } catch (...) { return report(0, "solve_error", 0, cudaSuccess, thrown("init").c_str()), false; }
    if (const char* violation = engine_.end_call()) return report(0, "contract", value, cudaErrorNotSupported, violation), false;
    if (value) return report(0, "solve_error", value, cudaSuccess, "init returned a value other than 0"), false;
    return settle(0, 0);
  }

  bool call(size_t index) {
    buffers_.prepare(index);
    // On a GPU the contents may still be on their way, and `stream_` does not wait for the legacy stream that brings them.
    if (const cudaError_t error = cudaDeviceSynchronize())
      throw std::runtime_error(std::string("contents of the buffers: ") + cudaGetErrorName(error));
    Arguments arguments = arguments_of(index);
    int value = 0;
    std::string exception;
    cudaGetLastError();
    engine_.begin_call(stream_);
    try {
      value = invoke<int>(candidate_.solve, arguments);
    } catch (...) { exception = thrown("solve"); }
    const char* violation = engine_.end_call();
    const int number = static_cast<int>(index);
    if (violation) {
      cudaGetLastError();  // of the refusal: the call's status says it better
      return report(number, "contract", value, cudaErrorNotSupported, violation), true;
    }
    if (!exception.empty()) return report(number, "solve_error", value, cudaSuccess, exception.c_str()), true;
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
      workspace_bytes_ = invoke<size_t>(candidate_.workspace_bytes, size_arguments(request_.sizes));
      if (cudaMalloc(&workspace_, workspace_bytes_))
        throw std::runtime_error("a workspace of " + std::to_string(workspace_bytes_) + " bytes cannot be allocated");
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
  if (argc == 4 && std::strcmp(argv[1], "--record") == 0) return record(argv);
  if (argc == 4 && std::strcmp(argv[1], "--workspace") == 0) return ask_workspace(argv);
  const bool native = argc == 3 && std::strcmp(argv[1], "--native") == 0;
  if (argc != 2 && !native)
    leave(bad_request, "usage: cudanalyst-runner [--native] REQUEST, or cudanalyst-runner --record|--workspace TABLE OUTPUT_DIR");
  const char* path = argv[argc - 1];
  Request request;
  try {
    request = read_request(path);
    take_contents(request, path);
  } catch (const std::exception& error) { leave(bad_request, std::string(path) + ": " + error.what()); }
  const RunnerInterface& engine = take_engine(native);
  const Candidate candidate = load(request.library);
  try {
    Run run(request, candidate, engine);
    if (run.init())
      for (size_t index = 0; index < request.calls.size(); index++)
        if (!run.call(index)) break;
  } catch (const std::exception& error) { leave(bad_request, error.what()); }
  engine.finish();
  std::fflush(nullptr);
  // Neither destructors nor exit handlers of the candidate: its part is over.
  std::_Exit(0);
}

}  // namespace cudanalyst::runner

int main(int argc, char** argv) { return cudanalyst::runner::main(argc, argv); }
