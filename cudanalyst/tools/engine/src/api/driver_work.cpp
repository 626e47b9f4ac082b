// The driver API: memory, copies, streams, events. Everything goes the way of the runtime API.
#include <algorithm>
#include <climits>
#include <cstring>

#include "../check/order.hpp"
#include "contexts.hpp"
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

}  // namespace

CUDANALYST_API CUresult cuMemAlloc(CUdeviceptr* address, size_t bytes) {
  return allocating("cuMemAlloc", [&]() -> int {
    return bytes ? host_memory::allocate_device(reinterpret_cast<void**>(address), bytes) : static_cast<int>(invalid_value);
  });
}
CUDANALYST_API CUresult cuMemAllocPitch(CUdeviceptr* address, size_t* pitch, size_t width, size_t rows, unsigned element) {
  return allocating("cuMemAllocPitch", [&]() -> int {
    if (pitch) *pitch = 0;
    if (!pitch || !width || !rows || (element != 4 && element != 8 && element != 16)) return invalid_value;
    return host_memory::allocate_pitch(reinterpret_cast<void**>(address), *pitch, width, rows);
  });
}
CUDANALYST_API CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned flags) {
  return allocating("cuMemAllocManaged", [&]() -> int {
    if (!bytes) return invalid_value;
    return host_memory::allocate_managed(reinterpret_cast<void**>(address), bytes, flags);
  });
}
CUDANALYST_API CUresult cuMemFree(CUdeviceptr address) {
  if (!address && contexts::initialised()) return CUDA_SUCCESS;
  return allocating("cuMemFree", [&] { return host_memory::free_device(pointer(address)); });
}
CUDANALYST_API CUresult cuMemHostAlloc(void** host, size_t bytes, unsigned flags) {
  return allocating("cuMemHostAlloc", [&] { return host_memory::allocate_pinned(host, bytes, flags); });
}
CUDANALYST_API CUresult cuMemAllocHost(void** host, size_t bytes) { return cuMemHostAlloc(host, bytes, 0); }
CUDANALYST_API CUresult cuMemFreeHost(void* host) {
  return allocating("cuMemFreeHost", [&] { return host_memory::free_pinned(host); });
}
CUDANALYST_API CUresult cuMemHostGetDevicePointer(CUdeviceptr* address, void* host, unsigned flags) {
  return driver_call([&] { return host_memory::device_pointer(reinterpret_cast<void**>(address), host, flags); });
}
CUDANALYST_API CUresult cuMemGetInfo(size_t* free, size_t* total) {
  return driver_call([&]() -> int {
    if (free) *free = backend().free_bytes();
    if (total) *total = backend().total_bytes();
    return success;
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
    if (!handle) return invalid_value;
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
CUDANALYST_API CUresult cuStreamSynchronize(CUstream handle) {
  return driver_call([&]() -> int {
    if (!streams::find(handle)) return CUDA_ERROR_INVALID_HANDLE;
    if (order::watching()) order::host_waited_for_stream(streams::find(handle)->id);
    return contract::host_wait("cuStreamSynchronize");
  });
}
CUDANALYST_API CUresult cuStreamQuery(CUstream handle) {
  return driver_call([&]() -> int {
    if (!streams::find(handle)) return CUDA_ERROR_INVALID_HANDLE;
    if (order::watching()) order::host_waited_for_stream(streams::find(handle)->id);
    return contract::host_wait("cuStreamQuery");
  });
}
CUDANALYST_API CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  return driver_call([&] { return streams::wait("cuStreamWaitEvent", stream, event); });
}
CUDANALYST_API CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return driver_call([&]() -> int {
    if (!streams::find(stream)) return CUDA_ERROR_INVALID_HANDLE;
    return status ? (*status = CU_STREAM_CAPTURE_STATUS_NONE, success) : invalid_value;
  });
}
CUDANALYST_API CUresult cuEventCreate(CUevent* handle, unsigned flags) {
  return driver_call([&]() -> int {
    if (!handle) return invalid_value;
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
    if (order::watching()) order::host_waited_for_event(streams::find(handle));
    return contract::host_wait("cuEventSynchronize");
  });
}
CUDANALYST_API CUresult cuEventQuery(CUevent handle) {
  return driver_call([&]() -> int {
    if (!streams::find(handle)) return CUDA_ERROR_INVALID_HANDLE;
    if (order::watching()) order::host_waited_for_event(streams::find(handle));
    return contract::host_wait("cuEventQuery");
  });
}
CUDANALYST_API CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return driver_call([&] { return streams::elapsed(milliseconds, start, end); });
}
