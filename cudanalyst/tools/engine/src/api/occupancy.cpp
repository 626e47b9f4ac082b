// How many blocks fit on a multiprocessor: the least of what warps, registers, shared memory and the block limit allow.
#include <algorithm>
#include <climits>

#include "device.hpp"
#include "errors.hpp"
#include "launch.hpp"

namespace cudanalyst::occupancy {
namespace {

// Of compute capability 7.0 to 12.x.
constexpr int sub_partitions = 4, register_unit = 256, shared_unit = 128;

int round_up(int value, int unit) { return (value + unit - 1) / unit * unit; }

int by_registers(const Function& function, int warps) {
  const int each = function.registers();
  if (!each) return INT_MAX;
  const int per_warp = round_up(each * device::attribute(cudaDevAttrWarpSize), register_unit);
  const int per_partition = device::attribute(cudaDevAttrMaxRegistersPerMultiprocessor) / sub_partitions;
  return per_partition / per_warp * sub_partitions / warps;
}

// Shared memory of a multiprocessor as the kernel's preference divides it from the cache: the least size that is enough for it and for one block.
int shared_capacity(const Function& function, size_t block) {
  constexpr int kilobytes[] = {0, 8, 16, 32, 64, 100, 132, 164, 196, 228};  // of compute capability 9.0
  const int most = device::attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  if (function.carveout < 0 || device::architecture() != 90) return most;
  const size_t wanted = std::max<size_t>(static_cast<size_t>(most) * static_cast<size_t>(function.carveout) / 100, block);
  for (const int size : kilobytes)
    if (static_cast<size_t>(size) * 1024 >= wanted) return size * 1024;
  return most;
}

size_t shared_of(const Function& function, size_t dynamic) {
  const size_t bytes = function.static_shared() + dynamic + device::attribute(cudaDevAttrReservedSharedMemoryPerBlock);
  return (bytes + shared_unit - 1) / shared_unit * shared_unit;
}

int resident_blocks(const Function& function, int threads, size_t dynamic) {
  // Not the kernel's own bound: the driver counts a block beyond __launch_bounds__ as if it could be launched (seen on an H200).
  if (threads > device::attribute(cudaDevAttrMaxThreadsPerBlock) || dynamic > static_cast<size_t>(function.max_dynamic())) return 0;
  const int warp = device::attribute(cudaDevAttrWarpSize), warps = (threads + warp - 1) / warp;
  const int by_warps = device::attribute(cudaDevAttrMaxThreadsPerMultiProcessor) / warp / warps;
  const size_t block = shared_of(function, dynamic);
  const int by_shared = static_cast<int>(static_cast<size_t>(shared_capacity(function, block)) / block);
  return std::min({device::attribute(cudaDevAttrMaxBlocksPerMultiprocessor), by_warps, by_registers(function, warps), by_shared});
}

}  // namespace

int active_blocks(const Function& function, int threads, size_t dynamic, int& blocks) {
  if (threads <= 0) return invalid_value;
  blocks = resident_blocks(function, threads, dynamic);
  backend().asked("occupancy " + function.symbol + " " + std::to_string(threads) + " " + std::to_string(dynamic), blocks);
  return success;
}

namespace {
constexpr int portable_cluster = 8, largest_cluster = 16;
}

int active_clusters(const Function& function, const Launch& shape, std::span<const cudaLaunchAttribute> attributes, int& clusters) {
  uint64_t size = 1;
  for (const cudaLaunchAttribute& attribute : attributes)
    if (attribute.id == cudaLaunchAttributeClusterDimension)
      size = uint64_t{attribute.val.clusterDim.x} * attribute.val.clusterDim.y * attribute.val.clusterDim.z;
  if (!size || size > static_cast<uint64_t>(function.nonportable_cluster ? largest_cluster : portable_cluster)) return cudaErrorInvalidClusterSize;
  int blocks = 0;
  if (int error = active_blocks(function, static_cast<int>(shape.block.x * shape.block.y * shape.block.z), shape.dynamic_shared_bytes, blocks))
    return error;
  // A bound: how multiprocessors are grouped differs from one card to the next.
  clusters = static_cast<int>(static_cast<uint64_t>(blocks) * device::attribute(cudaDevAttrMultiProcessorCount) / size);
  return success;
}

int cluster_size(const Function& function, const Launch& shape, int& size) {
  int blocks = 0;
  if (int error = active_blocks(function, static_cast<int>(shape.block.x * shape.block.y * shape.block.z), shape.dynamic_shared_bytes, blocks))
    return error;
  size = !blocks ? 0 : function.nonportable_cluster ? largest_cluster : portable_cluster;
  return success;
}

int available_shared(const Function& function, int blocks, int threads, size_t& bytes) {
  int resident = 0;
  if (int error = active_blocks(function, threads, 0, resident)) return error;
  if (blocks <= 0 || blocks > resident) return invalid_value;
  const int each = device::attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor) / blocks / shared_unit * shared_unit;
  const int rest = each - static_cast<int>(function.static_shared());
  bytes = static_cast<size_t>(std::clamp(rest, 0, function.max_dynamic()));
  return success;
}

}  // namespace cudanalyst::occupancy

using namespace cudanalyst;

namespace {
template <typename Body>
cudaError_t of_function(const void* host, Body&& body, const char* caller = __builtin_FUNCTION()) {
  return runtime_call(
      [&]() -> int {
        Function* function = nullptr;
        if (int error = modules::function_for(host, function)) return error;
        return body(*function);
      },
      caller);
}
}  // namespace

CUDANALYST_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* host, int threads, size_t dynamic,
                                                                                  unsigned flags) {
  return of_function(host, [&](Function& function) -> int {
    return blocks && flags <= 1 ? occupancy::active_blocks(function, threads, dynamic, *blocks) : invalid_value;
  });
}
CUDANALYST_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* host, int threads, size_t dynamic) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, host, threads, dynamic, 0);
}
CUDANALYST_API cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* host, int blocks, int threads) {
  return of_function(
      host, [&](Function& function) -> int { return bytes ? occupancy::available_shared(function, blocks, threads, *bytes) : invalid_value; });
}

namespace {
Launch shape_of(const cudaLaunchConfig_t& config) {
  return {{config.gridDim.x, config.gridDim.y, config.gridDim.z},
          {config.blockDim.x, config.blockDim.y, config.blockDim.z},
          config.dynamicSmemBytes,
          false,
          {}};
}
}  // namespace
CUDANALYST_API cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* host, const cudaLaunchConfig_t* config) {
  return of_function(host, [&](Function& function) -> int {
    if (!clusters || !config) return invalid_value;
    return occupancy::active_clusters(function, shape_of(*config), {config->attrs, config->attrs ? config->numAttrs : 0}, *clusters);
  });
}
CUDANALYST_API cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void* host, const cudaLaunchConfig_t* config) {
  return of_function(host, [&](Function& function) -> int {
    if (!size || !config) return invalid_value;
    return occupancy::cluster_size(function, shape_of(*config), *size);
  });
}

CUDANALYST_API cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* host) {
  return of_function(host, [&](Function& function) -> int {
    if (!attributes) return invalid_value;
    *attributes = {};
    attributes->sharedSizeBytes = function.static_shared();
    attributes->localSizeBytes = function.local_bytes();
    attributes->maxThreadsPerBlock = function.max_threads();
    attributes->numRegs = function.registers();
    attributes->constSizeBytes = function.constant_bytes();
    attributes->ptxVersion = function.ptx_version();
    attributes->binaryVersion = function.binary_version();
    attributes->maxDynamicSharedSizeBytes = function.max_dynamic();
    attributes->preferredShmemCarveout = function.carveout;
    attributes->nonPortableClusterSizeAllowed = function.nonportable_cluster;
    const uint32_t* own = function.info().required_cluster;
    attributes->clusterDimMustBeSet = own[0] != 0;
    attributes->requiredClusterWidth = own[0] ? static_cast<int>(own[0]) : function.cluster[0];
    attributes->requiredClusterHeight = own[0] ? static_cast<int>(own[1]) : function.cluster[1];
    attributes->requiredClusterDepth = own[0] ? static_cast<int>(own[2]) : function.cluster[2];
    attributes->clusterSchedulingPolicyPreference = function.cluster_policy;
    return success;
  });
}

namespace cudanalyst {
int set_function_attribute(Function& function, int attribute, int value) {
  switch (attribute) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize: {
      const int most = device::attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) - static_cast<int>(function.static_shared());
      if (value < 0 || value > most)
        return errors::because(invalid_value, "api_error",
                               "`" + function.info().name + "` cannot have " + std::to_string(value) + " B of dynamic shared memory: at most " +
                                   std::to_string(most) + " B are left of what the device allows a block");
      function.max_dynamic_shared = value;
      return success;
    }
    case cudaFuncAttributePreferredSharedMemoryCarveout:
      if (value < -1 || value > 100) return invalid_value;
      function.carveout = value;
      return success;
    case cudaFuncAttributeNonPortableClusterSizeAllowed: function.nonportable_cluster = value; return success;
    // What the kernel was compiled with stands.
    case cudaFuncAttributeClusterDimMustBeSet: return invalid_value;
    case cudaFuncAttributeRequiredClusterWidth:
    case cudaFuncAttributeRequiredClusterHeight:
    case cudaFuncAttributeRequiredClusterDepth:
      if (value < 0 || function.info().required_cluster[0]) return invalid_value;
      if (backend().recording()) {
        backend().refused(Refusal::unrecordable, "cudaFuncSetAttribute", " of a cluster's size: give it at the launch");
        return not_supported;
      }
      function.cluster[attribute - cudaFuncAttributeRequiredClusterWidth] = value;
      return success;
    case cudaFuncAttributeClusterSchedulingPolicyPreference:
      if (value < cudaClusterSchedulingPolicyDefault || value > cudaClusterSchedulingPolicyLoadBalancing) return invalid_value;
      function.cluster_policy = value;
      return success;
    default: return invalid_value;
  }
}
}  // namespace cudanalyst

CUDANALYST_API cudaError_t cudaFuncSetAttribute(const void* host, cudaFuncAttribute attribute, int value) {
  return of_function(host, [&](Function& function) { return set_function_attribute(function, attribute, value); });
}
CUDANALYST_API cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attribute, int value, int) {
  return cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), attribute, value);
}
// Preferences for a cache that this engine does not have.
CUDANALYST_API cudaError_t cudaFuncSetCacheConfig(const void* host, cudaFuncCache wanted) {
  return of_function(host, [&](Function&) -> int { return wanted >= 0 && wanted <= cudaFuncCachePreferEqual ? success : invalid_value; });
}
CUDANALYST_API cudaError_t cudaFuncSetSharedMemConfig(const void* host, cudaSharedMemConfig) {
  return of_function(host, [](Function&) { return 0; });
}
CUDANALYST_API cudaError_t cudaFuncGetParamInfo(const void* host, size_t index, size_t* offset, size_t* bytes) {
  return of_function(host, [&](Function& function) -> int {
    const auto& parameters = function.info().parameters;
    if (index >= parameters.size() || !offset) return invalid_value;
    *offset = parameters[index].offset;
    if (bytes) *bytes = parameters[index].bytes;
    return success;
  });
}
