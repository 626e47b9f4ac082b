#include "launch.hpp"

#include <algorithm>
#include <cstring>

#include "device.hpp"
#include "errors.hpp"

namespace cudanalyst {
namespace {

int bad_launch(int error, const std::string& why) { return errors::because(error, "invalid_launch", why); }

std::string extents(const Dim3& size) { return std::to_string(size.x) + " x " + std::to_string(size.y) + " x " + std::to_string(size.z); }

int validate_shape(const Function& function, const Launch& shape) {
  using device::attribute;
  const Dim3 &grid = shape.grid, &block = shape.block;
  const std::string name = "`" + function.info().name + "`";
  if (!grid.x || !grid.y || !grid.z || !block.x || !block.y || !block.z)
    return bad_launch(invalid_value, name + " with an empty grid (" + extents(grid) + ") or block (" + extents(block) + ")");
  auto within = [](uint32_t size, int id) { return size <= static_cast<uint32_t>(attribute(id)); };
  if (!within(grid.x, cudaDevAttrMaxGridDimX) || !within(grid.y, cudaDevAttrMaxGridDimY) || !within(grid.z, cudaDevAttrMaxGridDimZ))
    return bad_launch(invalid_value, name + " with a grid of " + extents(grid) + " blocks: at most 2147483647 x 65535 x 65535 are allowed");
  if (!within(block.x, cudaDevAttrMaxBlockDimX) || !within(block.y, cudaDevAttrMaxBlockDimY) || !within(block.z, cudaDevAttrMaxBlockDimZ))
    return bad_launch(invalid_value, name + " with a block of " + extents(block) + " threads: at most 1024 x 1024 x 64 are allowed, and 1024 in all");
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  if (threads > static_cast<uint64_t>(attribute(cudaDevAttrMaxThreadsPerBlock)))
    return bad_launch(invalid_value,
                      name + " with a block of " + extents(block) + " = " + std::to_string(threads) + " threads: at most 1024 are allowed");
  const KernelInfo& about = function.info();
  if (about.max_threads && threads > about.max_threads)
    return bad_launch(invalid_value, name + " with a block of " + std::to_string(threads) + " threads, more than its __launch_bounds__(" +
                                         std::to_string(about.max_threads) + ")");
  const uint32_t* required = about.required_threads;
  if (required[0] && (block.x != required[0] || block.y != std::max(required[1], 1u) || block.z != std::max(required[2], 1u))) return invalid_value;
  if (threads > static_cast<uint64_t>(function.max_threads())) return launch_out_of_resources;
  // A cooperative launch is asked first whether its blocks fit.
  if (!shape.cooperative && shape.dynamic_shared_bytes > static_cast<size_t>(function.max_dynamic()))
    return bad_launch(invalid_value, name + " with " + std::to_string(shape.dynamic_shared_bytes) + " B of dynamic shared memory: at most " +
                                         std::to_string(function.max_dynamic()) +
                                         " are allowed unless cudaFuncSetAttribute raises cudaFuncAttributeMaxDynamicSharedMemorySize");
  return success;
}

// Cooperative launches need all blocks resident at once.
int validate_cooperative(const Function& function, const Launch& shape) {
  int blocks = 0;
  if (int error =
          occupancy::active_blocks(function, static_cast<int>(shape.block.x * shape.block.y * shape.block.z), shape.dynamic_shared_bytes, blocks))
    return error;
  const uint64_t wanted = uint64_t{shape.grid.x} * shape.grid.y * shape.grid.z;
  const uint64_t resident = static_cast<uint64_t>(blocks) * device::attribute(cudaDevAttrMultiProcessorCount);
  return wanted > resident ? static_cast<int>(cudaErrorCooperativeLaunchTooLarge) : success;
}

// The cluster that the launch has, or the function, by its code or by its attributes.
int choose_cluster(const Function& function, Launch& shape) {
  const uint32_t* own = function.info().required_cluster;
  const bool given = uint64_t{shape.cluster.x} * shape.cluster.y * shape.cluster.z > 1;
  if (own[0]) {
    if (given && (shape.cluster.x != own[0] || shape.cluster.y != own[1] || shape.cluster.z != own[2])) return cudaErrorInvalidClusterSize;
    shape.cluster = {own[0], own[1], own[2]};
  } else if (!given && function.cluster[0]) {
    const auto at_least_one = [](int size) { return static_cast<uint32_t>(std::max(size, 1)); };
    shape.cluster = {at_least_one(function.cluster[0]), at_least_one(function.cluster[1]), at_least_one(function.cluster[2])};
  }
  return success;
}

int validate_cluster(const Function& function, const Launch& shape) {
  const Dim3& cluster = shape.cluster;
  const uint64_t blocks = uint64_t{cluster.x} * cluster.y * cluster.z;
  if (blocks <= 1) return success;
  const uint32_t* required = function.info().required_cluster;
  if (required[0] && (cluster.x != required[0] || cluster.y != required[1] || cluster.z != required[2])) return cudaErrorInvalidClusterSize;
  if (shape.grid.x % cluster.x || shape.grid.y % cluster.y || shape.grid.z % cluster.z) return cudaErrorInvalidClusterSize;
  return blocks > (function.nonportable_cluster ? 16u : 8u) ? static_cast<int>(cudaErrorInvalidClusterSize) : success;
}

int read_attribute(const cudaLaunchAttribute& attribute, Launch& shape) {
  switch (attribute.id) {
    case cudaLaunchAttributeCooperative: shape.cooperative = attribute.val.cooperative != 0; return success;
    case cudaLaunchAttributeClusterDimension:
      shape.cluster = {attribute.val.clusterDim.x, attribute.val.clusterDim.y, attribute.val.clusterDim.z};
      if (!shape.cluster.x && !shape.cluster.y && !shape.cluster.z) shape.cluster = {};
      return shape.cluster.x && shape.cluster.y && shape.cluster.z ? static_cast<int>(success) : cudaErrorInvalidClusterSize;
    case cudaLaunchAttributeClusterSchedulingPolicyPreference: {
      const int policy = attribute.val.clusterSchedulingPolicyPreference;
      return policy < cudaClusterSchedulingPolicyDefault || policy > cudaClusterSchedulingPolicyLoadBalancing ? invalid_value : success;
    }
    case cudaLaunchAttributeSynchronizationPolicy: return invalid_value;  // of streams
    case cudaLaunchAttributeProgrammaticEvent:
      if (!streams::find(attribute.val.programmaticEvent.event)) return cudaErrorInvalidResourceHandle;
      return unsupported("function", "cudaLaunchAttributeProgrammaticEvent", "record the event after the launch (cudaEventRecord)");
    case cudaLaunchAttributeAccessPolicyWindow: return contract::lasting("an access policy window");
    // These change when and where blocks run, not what they compute.
    case cudaLaunchAttributeIgnore:
    case cudaLaunchAttributePriority:
    case cudaLaunchAttributePreferredClusterDimension:
    case cudaLaunchAttributeProgrammaticStreamSerialization:
    case cudaLaunchAttributeMemSyncDomain:
    case cudaLaunchAttributeMemSyncDomainMap:
    case cudaLaunchAttributePreferredSharedMemoryCarveout: return success;
    default:
      return unsupported("function", ("launch attribute " + std::to_string(attribute.id)).c_str(),
                         "the CPU engine does not know this launch attribute; leave it out");
  }
}

}  // namespace

int launch_kernel(LaunchCall call) {
  Stream* stream = streams::find(call.stream);
  if (!stream) return cudaErrorInvalidResourceHandle;
  std::vector<LaunchAttribute> attributes;
  for (const cudaLaunchAttribute& attribute : call.attributes) {
    if (int error = read_attribute(attribute, call.shape)) return error;
    LaunchAttribute& copy = attributes.emplace_back();
    copy.id = attribute.id;
    static_assert(sizeof copy.value == sizeof attribute.val);
    std::memcpy(copy.value, &attribute.val, sizeof copy.value);
  }
  const Function& function = *call.function;
  if (int error = validate_shape(function, call.shape)) return error;
  if (int error = choose_cluster(function, call.shape)) return error;
  if (int error = validate_cluster(function, call.shape)) return error;
  if (call.shape.cooperative)
    if (int error = validate_cooperative(function, call.shape)) return error;
  if (int error = contract::work(call.caller, *stream)) return error;
  std::vector<uint8_t> packed(function.argument_bytes());
  if (!call.packed.empty()) {
    if (call.packed.size() < packed.size()) return invalid_value;
    std::memcpy(packed.data(), call.packed.data(), packed.size());
  } else if (!packed.empty()) {
    if (!call.arguments) return invalid_value;
    size_t index = 0;
    for (const Parameter& parameter : function.info().parameters) std::memcpy(&packed[parameter.offset], call.arguments[index++], parameter.bytes);
  }
  return backend().launch({&function, call.shape, packed, attributes, stream});
}

}  // namespace cudanalyst

using namespace cudanalyst;

namespace {

struct Configuration {
  dim3 grid, block;
  size_t shared_bytes = 0;
  void* stream = nullptr;
};
thread_local std::vector<Configuration> configurations;  // a kernel's argument may itself launch one

Dim3 convert(dim3 size) { return {size.x, size.y, size.z}; }

cudaError_t launch_by_host(const char* caller, const void* host, Launch shape, void** arguments, cudaStream_t stream,
                           std::span<const cudaLaunchAttribute> attributes = {}) {
  const auto body = [&]() -> int {
    Function* function = nullptr;
    if (int error = modules::function_for(host, function)) return error;
    return launch_kernel(
        {.caller = caller, .function = function, .shape = shape, .arguments = arguments, .stream = stream, .attributes = attributes});
  };
  return runtime_call(body, caller);
}

}  // namespace

CUDANALYST_API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, CUstream_st* stream) {
  configurations.push_back({grid, block, shared_bytes, stream});
  return 0;
}

CUDANALYST_API cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream) {
  if (configurations.empty()) return finish(cudaErrorMissingConfiguration);
  const Configuration last = configurations.back();
  configurations.pop_back();
  *grid = last.grid;
  *block = last.block;
  *shared_bytes = last.shared_bytes;
  *static_cast<void**>(stream) = last.stream;
  return cudaSuccess;
}

CUDANALYST_API cudaError_t cudaLaunchKernel(const void* host, dim3 grid, dim3 block, void** arguments, size_t shared_bytes, cudaStream_t stream) {
  return launch_by_host("a kernel launch", host, {convert(grid), convert(block), shared_bytes, false, {}}, arguments, stream);
}
CUDANALYST_PER_THREAD(cudaLaunchKernel, _ptsz);

CUDANALYST_API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                                              cudaStream_t stream) {
  // Null where __cudaGetKernel has just failed, and its error says more than that the handle is bad.
  if (!kernel && errors::peek_last()) return static_cast<cudaError_t>(errors::peek_last());
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block, arguments, shared_bytes, stream);
}
CUDANALYST_PER_THREAD(__cudaLaunchKernel, _ptsz);

CUDANALYST_API cudaError_t cudaLaunchCooperativeKernel(const void* host, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                                                       cudaStream_t stream) {
  return launch_by_host("cudaLaunchCooperativeKernel", host, {convert(grid), convert(block), shared_bytes, true, {}}, arguments, stream);
}
CUDANALYST_PER_THREAD(cudaLaunchCooperativeKernel, _ptsz);

CUDANALYST_API cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* host, void** arguments) {
  if (!config || (config->numAttrs && !config->attrs)) return finish(invalid_value);
  return launch_by_host("cudaLaunchKernelEx", host, {convert(config->gridDim), convert(config->blockDim), config->dynamicSmemBytes, false, {}},
                        arguments, config->stream, {config->attrs, config->attrs ? config->numAttrs : 0});
}
CUDANALYST_PER_THREAD(cudaLaunchKernelExC, _ptsz);
