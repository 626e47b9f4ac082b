// The driver API: what streams and events have beyond creation and order, host functions, and values written in stream order.
#include <cstring>

#include "contexts.hpp"
#include "copy.hpp"
#include "host_memory.hpp"

using namespace cudanalyst;

namespace {

template <typename Body>
CUresult of_stream(CUstream handle, Body&& body) {
  return driver_call([&]() -> int {
    Stream* stream = streams::find(handle);
    return stream ? body(*stream) : static_cast<int>(CUDA_ERROR_INVALID_HANDLE);
  });
}

template <typename T>
int give(T* to, T value) {
  return to ? (*to = value, success) : invalid_value;
}

int write_value(const char* caller, CUstream stream, CUdeviceptr address, const void* value, size_t bytes) {
  if (address % bytes) return invalid_value;
  return copy({.caller = caller,
               .blocking = false,
               .to = reinterpret_cast<void*>(address),
               .from = value,
               .row_bytes = bytes,
               .kind = cudaMemcpyHostToDevice,
               .stream = stream});
}

template <typename T>
bool satisfied(T now, T wanted, unsigned flags) {
  switch (flags & 7u) {
    case CU_STREAM_WAIT_VALUE_GEQ: return static_cast<std::make_signed_t<T>>(now - wanted) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ: return now == wanted;
    case CU_STREAM_WAIT_VALUE_AND: return (now & wanted) != 0;
    default: return ~(now | wanted) != 0;
  }
}

// All that could write the value has run, unless host code is to write it later: that order this engine does not have.
template <typename T>
int wait_value(const char* caller, CUdeviceptr address, T wanted, unsigned flags) {
  if (int error = contract::host_work(caller)) return error;
  if (address % sizeof(T)) return invalid_value;
  T now = 0;
  if (memory::read(&now, address, sizeof now)) return invalid_value;
  if (satisfied(now, wanted, flags)) return success;
  return unsupported("function", caller,
                     "the CPU engine runs work when it is submitted, and the value was not there then: submit what writes it before what waits");
}

}  // namespace

CUDANALYST_API CUresult cuStreamGetPriority(CUstream handle, int* priority) {
  return of_stream(handle, [&](Stream& stream) { return give(priority, stream.priority); });
}
CUDANALYST_API CUresult cuStreamGetFlags(CUstream handle, unsigned* flags) {
  return of_stream(handle, [&](Stream& stream) { return give(flags, stream.flags); });
}
CUDANALYST_API CUresult cuStreamGetId(CUstream handle, unsigned long long* id) {
  return of_stream(handle, [&](Stream& stream) { return give<unsigned long long>(id, stream.id); });
}
CUDANALYST_API CUresult cuStreamGetDevice(CUstream handle, CUdevice* device) {
  return of_stream(handle, [&](Stream&) { return give(device, 0); });
}
CUDANALYST_API CUresult cuStreamGetCtx(CUstream handle, CUcontext* context) {
  return of_stream(handle, [&](Stream&) { return give(context, contexts::current()); });
}
CUDANALYST_API CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext* context, CUgreenCtx* green) {
  return of_stream(handle, [&](Stream&) {
    if (green) *green = nullptr;
    return give(context, contexts::current());
  });
}
CUDANALYST_API CUresult cuStreamAttachMemAsync(CUstream stream, CUdeviceptr address, size_t bytes, unsigned flags) {
  return driver_call([&] { return host_memory::attach(stream, reinterpret_cast<void*>(address), bytes, flags); });
}
CUDANALYST_API CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
  return driver_call([&]() -> int { return flags > 1 ? invalid_value : streams::record("cuEventRecordWithFlags", event, stream); });
}

// Host functions run outside the lock: they may start threads of the program that call the API.
CUDANALYST_API CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* data) {
  const CUresult error = of_stream(handle, [&](Stream&) -> int {
    if (!function) return invalid_value;
    return contract::host_work("cuLaunchHostFunc");
  });
  if (!error) streams::run_host_function([&] { function(data); });
  return error;
}
CUDANALYST_API CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void* data, unsigned flags) {
  const CUresult error = of_stream(handle, [&](Stream&) -> int {
    if (!callback || flags) return invalid_value;
    return contract::host_work("cuStreamAddCallback");
  });
  if (!error) streams::run_host_function([&] { callback(handle, CUDA_SUCCESS, data); });
  return error;
}

CUDANALYST_API CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned) {
  return driver_call([&] { return write_value("cuStreamWriteValue32", stream, address, &value, sizeof value); });
}
CUDANALYST_API CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned) {
  return driver_call([&] { return write_value("cuStreamWriteValue64", stream, address, &value, sizeof value); });
}
CUDANALYST_API CUresult cuStreamWaitValue32(CUstream handle, CUdeviceptr address, cuuint32_t value, unsigned flags) {
  return of_stream(handle, [&](Stream&) { return wait_value("cuStreamWaitValue32", address, value, flags); });
}
CUDANALYST_API CUresult cuStreamWaitValue64(CUstream handle, CUdeviceptr address, cuuint64_t value, unsigned flags) {
  return of_stream(handle, [&](Stream&) { return wait_value("cuStreamWaitValue64", address, value, flags); });
}
