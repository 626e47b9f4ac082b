// The driver API: memory, copies, streams, events, launches, function attributes. Everything goes the way of the runtime API.
#include <algorithm>
#include <climits>
#include <cstring>

#include "copy.hpp"
#include "device.hpp"
#include "host_memory.hpp"
#include "launch.hpp"

using namespace cudanalyst;

namespace {

void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

template <typename Body>
CUresult allocating(const char* function, Body&& body) {
  return driver_call([&]() -> int {
    if (int error = contract::allocation(function)) return error;
    return body();
  });
}

template <typename Body>
CUresult of_function(const void* handle, Body&& body) {
  return driver_call([&]() -> int {
    if (!modules::is_function(handle)) return CUDA_ERROR_INVALID_HANDLE;
    return body(*const_cast<Function*>(static_cast<const Function*>(handle)));
  });
}

CUresult copy_bytes(const char* caller, bool blocking, CUdeviceptr to, CUdeviceptr from, size_t bytes, cudaMemcpyKind kind, CUstream stream) {
  return driver_call([&] {
    return copy(
        {.caller = caller, .blocking = blocking, .to = pointer(to), .from = pointer(from), .row_bytes = bytes, .kind = kind, .stream = stream});
  });
}

CUresult fill_elements(const char* caller, CUdeviceptr to, uint32_t pattern, unsigned element, size_t count, CUstream stream, size_t rows = 1,
                       size_t pitch = 0) {
  return driver_call([&] {
    return fill({.caller = caller,
                 .to = pointer(to),
                 .pattern = pattern,
                 .element_bytes = element,
                 .row_elements = count,
                 .rows = rows,
                 .pitch = pitch,
                 .stream = stream});
  });
}

CUdeviceptr number(const void* host) { return reinterpret_cast<CUdeviceptr>(host); }

int function_attribute(const Function& function, int id, int& value) {
  switch (id) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: value = function.max_threads(); return success;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: value = static_cast<int>(function.static_shared()); return success;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: value = static_cast<int>(function.constant_bytes()); return success;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: value = static_cast<int>(function.info().local_bytes); return success;
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
    if (!arguments && extra)
      if (int error = read_extra(extra, packed)) return error;
    return launch_kernel({.caller = caller,
                          .function = &function,
                          .shape = shape,
                          .arguments = arguments,
                          .packed = packed,
                          .stream = stream,
                          .attributes = attributes});
  });
}

}  // namespace

CUDANALYST_API CUresult cuMemAlloc(CUdeviceptr* address, size_t bytes) {
  if (!bytes) return CUDA_ERROR_INVALID_VALUE;
  return allocating("cuMemAlloc", [&] { return host_memory::allocate_device(reinterpret_cast<void**>(address), bytes); });
}
CUDANALYST_API CUresult cuMemAllocPitch(CUdeviceptr* address, size_t* pitch, size_t width, size_t rows, unsigned) {
  return allocating("cuMemAllocPitch", [&] { return host_memory::allocate_pitch(reinterpret_cast<void**>(address), *pitch, width, rows); });
}
CUDANALYST_API CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned flags) {
  return allocating("cuMemAllocManaged", [&] { return host_memory::allocate_managed(reinterpret_cast<void**>(address), bytes, flags); });
}
CUDANALYST_API CUresult cuMemFree(CUdeviceptr address) {
  return allocating("cuMemFree", [&] { return host_memory::free_device(pointer(address)); });
}
CUDANALYST_API CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream) { return cuMemAlloc(address, bytes); }
CUDANALYST_API CUresult cuMemFreeAsync(CUdeviceptr address, CUstream) { return cuMemFree(address); }
CUDANALYST_API CUresult cuMemHostAlloc(void** host, size_t bytes, unsigned flags) {
  return allocating("cuMemHostAlloc", [&] { return host_memory::allocate_pinned(host, bytes, flags); });
}
CUDANALYST_API CUresult cuMemAllocHost(void** host, size_t bytes) { return cuMemHostAlloc(host, bytes, 0); }
CUDANALYST_API CUresult cuMemFreeHost(void* host) {
  return allocating("cuMemFreeHost", [&] { return host_memory::free_pinned(host); });
}
CUDANALYST_API CUresult cuMemHostGetDevicePointer(CUdeviceptr* address, void* host, unsigned flags) {
  return driver_error(cudaHostGetDevicePointer(reinterpret_cast<void**>(address), host, flags));
}
CUDANALYST_API CUresult cuMemGetInfo(size_t* free, size_t* total) {
  return driver_call([&] {
    *free = backend().free_bytes();
    *total = backend().total_bytes();
    return 0;
  });
}
CUDANALYST_API CUresult cuMemGetAddressRange(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
  return driver_call([&]() -> int {
    const auto found = backend().find(address);
    if (!found || !found->live) return CUDA_ERROR_NOT_FOUND;
    if (base) *base = found->address;
    if (bytes) *bytes = found->bytes;
    return success;
  });
}
CUDANALYST_API CUresult cuPointerGetAttribute(void* data, CUpointer_attribute id, CUdeviceptr address) {
  return driver_call([&]() -> int {
    using host_memory::Place;
    const Place place = host_memory::place_of(pointer(address));
    if (place == Place::pageable) return invalid_value;
    switch (id) {
      case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *static_cast<unsigned*>(data) = place == Place::pinned ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        return success;
      case CU_POINTER_ATTRIBUTE_IS_MANAGED: *static_cast<int*>(data) = place == Place::managed; return success;
      case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *static_cast<int*>(data) = 0; return success;
      case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: *static_cast<CUdeviceptr*>(data) = address; return success;
      default: return unsupported("function", "cuPointerGetAttribute", "the CPU engine does not know this pointer attribute");
    }
  });
}

CUDANALYST_API CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copy_bytes("cuMemcpy", true, to, from, bytes, cudaMemcpyDefault, nullptr);
}
CUDANALYST_API CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy_bytes("cuMemcpyAsync", false, to, from, bytes, cudaMemcpyDefault, stream);
}
CUDANALYST_API CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) {
  return copy_bytes("cuMemcpyHtoD", true, to, number(from), bytes, cudaMemcpyHostToDevice, nullptr);
}
CUDANALYST_API CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) {
  return copy_bytes("cuMemcpyDtoH", true, number(to), from, bytes, cudaMemcpyDeviceToHost, nullptr);
}
CUDANALYST_API CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copy_bytes("cuMemcpyDtoD", true, to, from, bytes, cudaMemcpyDeviceToDevice, nullptr);
}
CUDANALYST_API CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return copy_bytes("cuMemcpyHtoDAsync", false, to, number(from), bytes, cudaMemcpyHostToDevice, stream);
}
CUDANALYST_API CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy_bytes("cuMemcpyDtoHAsync", false, number(to), from, bytes, cudaMemcpyDeviceToHost, stream);
}
CUDANALYST_API CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy_bytes("cuMemcpyDtoDAsync", false, to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}

CUDANALYST_API CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t count) {
  return fill_elements("cuMemsetD8", to, value, 1, count, nullptr);
}
CUDANALYST_API CUresult cuMemsetD16(CUdeviceptr to, unsigned short value, size_t count) {
  return fill_elements("cuMemsetD16", to, value, 2, count, nullptr);
}
CUDANALYST_API CUresult cuMemsetD32(CUdeviceptr to, unsigned value, size_t count) {
  return fill_elements("cuMemsetD32", to, value, 4, count, nullptr);
}
CUDANALYST_API CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  return fill_elements("cuMemsetD8Async", to, value, 1, count, stream);
}
CUDANALYST_API CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
  return fill_elements("cuMemsetD16Async", to, value, 2, count, stream);
}
CUDANALYST_API CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  return fill_elements("cuMemsetD32Async", to, value, 4, count, stream);
}
CUDANALYST_API CUresult cuMemsetD2D32(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t rows) {
  return fill_elements("cuMemsetD2D32", to, value, 4, width, nullptr, rows, pitch);
}
CUDANALYST_API CUresult cuMemsetD2D8(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t rows) {
  return fill_elements("cuMemsetD2D8", to, value, 1, width, nullptr, rows, pitch);
}

// Streams and events are the runtime's own.
CUDANALYST_API CUresult cuStreamCreateWithPriority(CUstream* handle, unsigned flags, int priority) {
  return driver_call([&]() -> int {
    Stream* stream = nullptr;
    int error = streams::create(stream, flags, priority);
    if (!error) *handle = reinterpret_cast<CUstream>(stream);
    return error;
  });
}
CUDANALYST_API CUresult cuStreamCreate(CUstream* handle, unsigned flags) { return cuStreamCreateWithPriority(handle, flags, 0); }
CUDANALYST_API CUresult cuStreamDestroy(CUstream handle) {
  return driver_call([&] { return streams::destroy(handle); });
}
CUDANALYST_API CUresult cuStreamSetAttribute(CUstream handle, CUstreamAttrID id, const CUstreamAttrValue* value) {
  return driver_error(cudaStreamSetAttribute(handle, static_cast<cudaStreamAttrID>(id), reinterpret_cast<const cudaStreamAttrValue*>(value)));
}
CUDANALYST_API CUresult cuStreamSynchronize(CUstream handle) {
  return driver_call([&]() -> int {
    if (!streams::find(handle)) return CUDA_ERROR_INVALID_HANDLE;
    return contract::host_wait("cuStreamSynchronize");
  });
}
CUDANALYST_API CUresult cuStreamQuery(CUstream handle) {
  return driver_call([&]() -> int {
    if (!streams::find(handle)) return CUDA_ERROR_INVALID_HANDLE;
    return contract::host_wait("cuStreamQuery");
  });
}
CUDANALYST_API CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  return driver_call([&] { return streams::wait("cuStreamWaitEvent", stream, event); });
}
CUDANALYST_API CUresult cuStreamIsCapturing(CUstream, CUstreamCaptureStatus* status) { return *status = CU_STREAM_CAPTURE_STATUS_NONE, CUDA_SUCCESS; }
CUDANALYST_API CUresult cuEventCreate(CUevent* handle, unsigned flags) {
  return driver_call([&]() -> int {
    Event* event = nullptr;
    int error = streams::create(event, flags);
    if (!error) *handle = reinterpret_cast<CUevent>(event);
    return error;
  });
}
CUDANALYST_API CUresult cuEventDestroy(CUevent handle) {
  return driver_call([&] { return streams::destroy(handle); });
}
CUDANALYST_API CUresult cuEventRecord(CUevent event, CUstream stream) {
  return driver_call([&] { return streams::record("cuEventRecord", event, stream); });
}
CUDANALYST_API CUresult cuEventSynchronize(CUevent handle) {
  return driver_call([&]() -> int {
    if (!streams::find(handle)) return CUDA_ERROR_INVALID_HANDLE;
    return contract::host_wait("cuEventSynchronize");
  });
}
CUDANALYST_API CUresult cuEventQuery(CUevent handle) {
  return driver_call([&]() -> int {
    if (!streams::find(handle)) return CUDA_ERROR_INVALID_HANDLE;
    return contract::host_wait("cuEventQuery");
  });
}
CUDANALYST_API CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return driver_call([&] { return streams::elapsed(milliseconds, start, end); });
}

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
  static_assert(sizeof(CUlaunchAttribute) == sizeof(cudaLaunchAttribute));
  // The two attribute types are one: same identifiers, same layout.
  const auto* attributes = reinterpret_cast<const cudaLaunchAttribute*>(config->attrs);
  return launch("cuLaunchKernelEx", function,
                {{config->gridDimX, config->gridDimY, config->gridDimZ},
                 {config->blockDimX, config->blockDimY, config->blockDimZ},
                 config->sharedMemBytes,
                 false,
                 {}},
                config->hStream, arguments, extra, {attributes, config->numAttrs});
}

CUDANALYST_API CUresult cuFuncGetAttribute(int* value, CUfunction_attribute id, CUfunction handle) {
  return of_function(handle, [&](Function& function) { return function_attribute(function, id, *value); });
}
CUDANALYST_API CUresult cuKernelGetAttribute(int* value, CUfunction_attribute id, CUkernel handle, CUdevice) {
  return cuFuncGetAttribute(value, id, reinterpret_cast<CUfunction>(handle));
}
CUDANALYST_API CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute id, int value) {
  return of_function(handle, [&](Function& function) { return set_function_attribute(function, id, value); });
}
CUDANALYST_API CUresult cuKernelSetAttribute(CUfunction_attribute id, int value, CUkernel handle, CUdevice) {
  return cuFuncSetAttribute(reinterpret_cast<CUfunction>(handle), id, value);
}
CUDANALYST_API CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache) {
  return of_function(handle, [](Function&) { return 0; });
}
CUDANALYST_API CUresult cuFuncGetName(const char** name, CUfunction handle) {
  return of_function(handle, [&](Function& function) { return *name = function.symbol.c_str(), 0; });
}
CUDANALYST_API CUresult cuFuncGetModule(CUmodule* module, CUfunction handle) {
  return of_function(handle, [&](Function& function) { return *module = reinterpret_cast<CUmodule>(function.image), 0; });
}

CUDANALYST_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction handle, int threads, size_t shared, unsigned) {
  return of_function(handle, [&](Function& function) { return occupancy::active_blocks(function, threads, shared, *blocks); });
}
CUDANALYST_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction handle, int threads, size_t shared) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, handle, threads, shared, 0);
}
CUDANALYST_API CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction handle, int blocks, int threads) {
  return of_function(handle, [&](Function& function) { return occupancy::available_shared(function, blocks, threads, *bytes); });
}
// The largest block among those with the most resident threads.
CUDANALYST_API CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction handle, CUoccupancyB2DSize shared_of, size_t shared,
                                                         int limit) {
  return of_function(handle, [&](Function& function) -> int {
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
