#pragma once
#include "backend.hpp"
#include "modules.hpp"
#include "streams.hpp"

namespace cudanalyst {

struct LaunchCall {
  const char* caller;  // the API function, for messages
  Function* function;
  Launch shape;
  void** arguments = nullptr;            // one pointer a parameter, or
  std::span<const uint8_t> packed = {};  // the whole block
  cudaStream_t stream = nullptr;
  std::span<const cudaLaunchAttribute> attributes = {};
};

// Validates as a GPU's driver does and hands the launch to the back end.
int launch_kernel(LaunchCall call);

// cudaFuncSetAttribute and its driver twin; the identifiers are the same.
int set_function_attribute(Function& function, int attribute, int value);

namespace occupancy {
// Resident blocks of `threads` threads on one multiprocessor; the error of a block that can never run is 0 blocks.
int active_blocks(const Function& function, int threads, size_t dynamic_shared_bytes, int& blocks);
// Clusters of the launch's shape that fit on the device, and the largest cluster that a launch of it can have.
int active_clusters(const Function& function, const Launch& shape, std::span<const cudaLaunchAttribute> attributes, int& clusters);
int cluster_size(const Function& function, const Launch& shape, int& size);
int available_shared(const Function& function, int blocks, int threads, size_t& bytes);
}  // namespace occupancy

}  // namespace cudanalyst
