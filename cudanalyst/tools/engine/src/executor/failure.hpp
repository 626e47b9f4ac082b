// How a command fails: what it says is the answer.
#pragma once
#include <stdexcept>
#include <string>

namespace cudanalyst::executor {

// The parent asked for something that cannot be.
struct BadCommand : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A file or the socket.
struct IoFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct CudaFailure : std::runtime_error {
  CudaFailure(int code, std::string name, const std::string& message) : std::runtime_error(message), code(code), name(std::move(name)) {}
  int code;
  std::string name;
};

}  // namespace cudanalyst::executor
