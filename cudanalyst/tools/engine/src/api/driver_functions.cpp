// The driver API: launches, attributes of kernels, occupancy.
#include <algorithm>

#include "device.hpp"
#include "launch.hpp"

using namespace cudanalyst;

namespace {

template <typename Body>
CUresult of_function(const void* handle, Body&& body) {
  return driver_call([&]() -> int {
    if (!modules::is_function(handle)) return CUDA_ERROR_INVALID_HANDLE;
    return body(*const_cast<Function*>(static_cast<const Function*>(handle)));
  });
}

int function_attribute(const Function& function, int id, int& value) {
  switch (id) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: value = function.max_threads(); return success;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: value = static_cast<int>(function.static_shared()); return success;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: value = static_cast<int>(function.constant_bytes()); return success;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: value = static_cast<int>(function.local_bytes()); return success;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: value = function.registers(); return success;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: value = function.ptx_version(); return success;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: value = function.binary_version(); return success;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: value = 0; return success;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: value = function.max_dynamic(); return success;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: value = function.carveout; return success;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: value = function.nonportable_cluster; return success;
    default: return invalid_value;
  }
}

// The packed block and its size, as CU_LAUNCH_PARAM_BUFFER_* hands them over.
int read_extra(void** extra, std::span<const uint8_t>& packed) {
  const uint8_t* data = nullptr;
  size_t bytes = 0;
  for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) data = static_cast<const uint8_t*>(extra[1]);
    else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) bytes = *static_cast<size_t*>(extra[1]);
    else return invalid_value;
  }
  packed = {data, data ? bytes : 0};
  return success;
}

CUresult launch(const char* caller, CUfunction handle, Launch shape, CUstream stream, void** arguments, void** extra,
                std::span<const cudaLaunchAttribute> attributes = {}) {
  return of_function(handle, [&](Function& function) -> int {
    std::span<const uint8_t> packed;
    if (arguments && extra) return invalid_value;
    if (extra)
      if (int error = read_extra(extra, packed)) return error;
    if (packed.size() > function.argument_bytes()) return launch_out_of_resources;  // as an H200 says
    return launch_kernel({.caller = caller,
                          .function = &function,
                          .shape = shape,
                          .arguments = arguments,
                          .packed = packed,
                          .stream = stream,
                          .attributes = attributes});
  });
}

Launch shape_of(const CUlaunchConfig& config) {
  return {
      {config.gridDimX, config.gridDimY, config.gridDimZ}, {config.blockDimX, config.blockDimY, config.blockDimZ}, config.sharedMemBytes, false, {}};
}

// The two attribute types are one: same identifiers, same layout.
static_assert(sizeof(CUlaunchAttribute) == sizeof(cudaLaunchAttribute));
std::span<const cudaLaunchAttribute> attributes_of(const CUlaunchConfig& config) {
  return {reinterpret_cast<const cudaLaunchAttribute*>(config.attrs), config.attrs ? config.numAttrs : 0};
}

bool valid_cache(int wanted) { return wanted >= CU_FUNC_CACHE_PREFER_NONE && wanted <= CU_FUNC_CACHE_PREFER_EQUAL; }

}  // namespace

CUDANALYST_API CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                                       unsigned shared, CUstream stream, void** arguments, void** extra) {
  return launch("cuLaunchKernel", function, {{gx, gy, gz}, {bx, by, bz}, shared, false, {}}, stream, arguments, extra);
}
CUDANALYST_API CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                                                  unsigned shared, CUstream stream, void** arguments) {
  return launch("cuLaunchCooperativeKernel", function, {{gx, gy, gz}, {bx, by, bz}, shared, true, {}}, stream, arguments, nullptr);
}
CUDANALYST_API CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** arguments, void** extra) {
  if (!config) return CUDA_ERROR_INVALID_VALUE;
  return launch("cuLaunchKernelEx", function, shape_of(*config), config->hStream, arguments, extra, attributes_of(*config));
}

CUDANALYST_API CUresult cuFuncGetAttribute(int* value, CUfunction_attribute id, CUfunction handle) {
  return of_function(handle, [&](Function& function) -> int { return value ? function_attribute(function, id, *value) : invalid_value; });
}
CUDANALYST_API CUresult cuKernelGetAttribute(int* value, CUfunction_attribute id, CUkernel handle, CUdevice device) {
  if (device) return CUDA_ERROR_INVALID_DEVICE;
  return cuFuncGetAttribute(value, id, reinterpret_cast<CUfunction>(handle));
}
CUDANALYST_API CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute id, int value) {
  return of_function(handle, [&](Function& function) { return set_function_attribute(function, id, value); });
}
CUDANALYST_API CUresult cuKernelSetAttribute(CUfunction_attribute id, int value, CUkernel handle, CUdevice device) {
  if (device) return CUDA_ERROR_INVALID_DEVICE;
  return cuFuncSetAttribute(reinterpret_cast<CUfunction>(handle), id, value);
}
CUDANALYST_API CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache wanted) {
  return of_function(handle, [&](Function&) -> int { return valid_cache(wanted) ? success : invalid_value; });
}
CUDANALYST_API CUresult cuFuncGetName(const char** name, CUfunction handle) {
  return of_function(handle, [&](Function& function) -> int { return name ? (*name = function.symbol.c_str(), success) : invalid_value; });
}
CUDANALYST_API CUresult cuFuncGetModule(CUmodule* module, CUfunction handle) {
  return of_function(
      handle, [&](Function& function) -> int { return module ? (*module = reinterpret_cast<CUmodule>(function.image), success) : invalid_value; });
}

CUDANALYST_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction handle, int threads, size_t shared,
                                                                             unsigned flags) {
  return of_function(handle, [&](Function& function) -> int {
    return blocks && flags <= 1 ? occupancy::active_blocks(function, threads, shared, *blocks) : invalid_value;
  });
}
CUDANALYST_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction handle, int threads, size_t shared) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, handle, threads, shared, 0);
}
CUDANALYST_API CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction handle, int blocks, int threads) {
  return of_function(
      handle, [&](Function& function) -> int { return bytes ? occupancy::available_shared(function, blocks, threads, *bytes) : invalid_value; });
}
// The largest block among those with the most resident threads.
CUDANALYST_API CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction handle, CUoccupancyB2DSize shared_of, size_t shared,
                                                         int limit) {
  return of_function(handle, [&](Function& function) -> int {
    if (!grid || !block) return invalid_value;
    const int warp = device::attribute(cudaDevAttrWarpSize);
    int most = function.max_threads(), best = 0;
    if (limit > 0) most = std::min(most, limit);
    for (int threads = (most + warp - 1) / warp * warp; threads > 0; threads -= warp) {
      const int size = std::min(threads, most);
      int blocks = 0;
      if (int error = occupancy::active_blocks(function, size, shared_of ? shared_of(size) : shared, blocks)) return error;
      if (blocks * size <= best) continue;
      best = blocks * size;
      *block = size;
      *grid = blocks * device::attribute(cudaDevAttrMultiProcessorCount);
    }
    return success;
  });
}
CUDANALYST_API CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, CUfunction handle, CUoccupancyB2DSize shared_of,
                                                                  size_t shared, int limit, unsigned flags) {
  if (flags > 1) return CUDA_ERROR_INVALID_VALUE;
  return cuOccupancyMaxPotentialBlockSize(grid, block, handle, shared_of, shared, limit);
}
CUDANALYST_API CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction handle, const CUlaunchConfig* config) {
  return of_function(handle, [&](Function& function) -> int {
    if (!clusters || !config) return invalid_value;
    return occupancy::active_clusters(function, shape_of(*config), attributes_of(*config), *clusters);
  });
}
CUDANALYST_API CUresult cuOccupancyMaxPotentialClusterSize(int* size, CUfunction handle, const CUlaunchConfig* config) {
  return of_function(handle, [&](Function& function) -> int {
    if (!size || !config) return invalid_value;
    return occupancy::cluster_size(function, shape_of(*config), *size);
  });
}
CUDANALYST_API CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t* offset, size_t* bytes) {
  return of_function(handle, [&](Function& function) -> int {
    const auto& parameters = function.info().parameters;
    if (index >= parameters.size() || !offset) return invalid_value;
    *offset = parameters[index].offset;
    if (bytes) *bytes = parameters[index].bytes;
    return success;
  });
}
CUDANALYST_API CUresult cuFuncLoad(CUfunction handle) {
  return of_function(handle, [](Function&) { return 0; });
}
CUDANALYST_API CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction handle) {
  return of_function(handle, [&](Function&) -> int { return state ? (*state = CU_FUNCTION_LOADING_STATE_LOADED, success) : invalid_value; });
}
CUDANALYST_API CUresult cuFuncSetSharedMemConfig(CUfunction handle, CUsharedconfig) {
  return of_function(handle, [](Function&) { return 0; });
}

// A kernel of a library is a function here: there is one context that it could be in.
CUDANALYST_API CUresult cuKernelGetName(const char** name, CUkernel handle) { return cuFuncGetName(name, reinterpret_cast<CUfunction>(handle)); }
CUDANALYST_API CUresult cuKernelGetParamInfo(CUkernel handle, size_t index, size_t* offset, size_t* bytes) {
  return cuFuncGetParamInfo(reinterpret_cast<CUfunction>(handle), index, offset, bytes);
}
CUDANALYST_API CUresult cuKernelGetLibrary(CUlibrary* library, CUkernel handle) {
  return cuFuncGetModule(reinterpret_cast<CUmodule*>(library), reinterpret_cast<CUfunction>(handle));
}
CUDANALYST_API CUresult cuKernelSetCacheConfig(CUkernel handle, CUfunc_cache wanted, CUdevice device) {
  if (device) return CUDA_ERROR_INVALID_DEVICE;
  return cuFuncSetCacheConfig(reinterpret_cast<CUfunction>(handle), wanted);
}
