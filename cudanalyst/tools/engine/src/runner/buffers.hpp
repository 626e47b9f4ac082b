// The device buffers of a call: contents from files, guard zones, downloads.
#pragma once
#include <cuda_runtime_api.h>

#include <map>
#include <string>

#include "api/runner_interface.hpp"
#include "request.hpp"

namespace cudanalyst::runner {

class Buffers {
 public:
  Buffers(Request& request, const RunnerInterface& engine) : request_(request), engine_(engine) {}
  // Gives every buffer of the call its place and contents.
  void prepare(size_t index);
  // What solve is given.
  void* address(const std::string& name) const;
  cudaError_t download(size_t index) const;
  void release_old();

 private:
  struct Place {
    char* base = nullptr;
    size_t bytes = 0;  // with guards
  };
  Place place(const std::string& name, const BufferContents& contents, size_t index);

  Request& request_;
  const RunnerInterface& engine_;
  std::map<std::string, Place> now_;
  std::vector<char*> old_;
};

}  // namespace cudanalyst::runner
