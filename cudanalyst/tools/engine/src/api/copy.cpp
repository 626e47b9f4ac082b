#include "copy.hpp"

#include <cstring>

#include "../check/order.hpp"
#include "errors.hpp"
#include "host_memory.hpp"
#include "modules.hpp"

namespace cudanalyst {
namespace {

std::string whose(const void* pointer) {
  if (!pointer) return "a null pointer";
  return host_memory::on_device(pointer) ? "device memory (" + backend().describe(reinterpret_cast<uint64_t>(pointer)) + ")" : "host memory";
}

const char* name_of(cudaMemcpyKind kind) {
  constexpr const char* names[] = {"cudaMemcpyHostToHost", "cudaMemcpyHostToDevice", "cudaMemcpyDeviceToHost", "cudaMemcpyDeviceToDevice",
                                   "cudaMemcpyDefault"};
  return names[kind];
}

int bad_copy(int error, const CopyCall& call, const std::string& why) {
  const void* blame = host_memory::on_device(call.to) ? call.to : call.from;
  return errors::because(error, "invalid_copy", why, host_memory::on_device(blame) ? reinterpret_cast<uint64_t>(blame) : 0);
}

// The side of the device that does not hold the whole range, if one does not.
std::string overrun(const CopyCall& call) {
  const auto check = [&](const void* pointer, size_t pitch, const char* what) -> std::string {
    const auto address = reinterpret_cast<uint64_t>(pointer);
    const size_t bytes = (call.rows - 1) * pitch + call.row_bytes;
    if (!host_memory::on_device(pointer) || backend().holds(address, bytes)) return "";
    const auto found = backend().find(address);
    const std::string why = found && !found->live ? "it was freed before" : "it ends before that";
    return std::string(what) + " needs " + std::to_string(bytes) + " B from " + backend().describe(address) + " on, and " + why;
  };
  const std::string to = check(call.to, call.to_pitch, "the destination");
  return to.empty() ? check(call.from, call.from_pitch, "the source") : to;
}

// What an H200 answers to a kind that does not fit the pointers: the sides that must be on the device are.
int check_kind(cudaMemcpyKind kind, bool to_device, bool from_device) {
  switch (kind) {
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault: return success;
    case cudaMemcpyHostToDevice: return to_device ? success : invalid_value;
    case cudaMemcpyDeviceToHost: return from_device ? success : invalid_value;
    case cudaMemcpyDeviceToDevice: return to_device && from_device ? success : invalid_value;
  }
  return cudaErrorInvalidMemcpyDirection;
}

Direction direction(bool to_device, bool from_device) {
  if (to_device) return from_device ? Direction::device_to_device : Direction::host_to_device;
  return from_device ? Direction::device_to_host : Direction::host_to_host;
}

// Of a plane; an H200 asks less of a single row.
int check_pitches(size_t to_pitch, size_t from_pitch, size_t width, size_t rows) {
  if (width <= to_pitch && width <= from_pitch) return success;
  if (rows != 1) return cudaErrorInvalidPitchValue;
  return to_pitch || from_pitch ? invalid_value : success;
}

bool overflows(size_t rows, size_t pitch) { return rows && pitch > SIZE_MAX / rows; }

}  // namespace

int copy(const CopyCall& call) {
  Stream* stream = streams::find(call.stream);
  if (!stream) return cudaErrorInvalidResourceHandle;
  const bool to_device = host_memory::on_device(call.to), from_device = host_memory::on_device(call.from);
  if (!call.row_bytes || !call.rows) return success;
  if (call.kind < cudaMemcpyHostToHost || call.kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  if (call.rows > 1 && (call.to_pitch < call.row_bytes || call.from_pitch < call.row_bytes)) return cudaErrorInvalidPitchValue;
  if (!call.to || !call.from) return bad_copy(invalid_value, call, "from " + whose(call.from) + " to " + whose(call.to));
  if (overflows(call.rows, call.to_pitch) || overflows(call.rows, call.from_pitch)) return invalid_value;
  if (int error = check_kind(call.kind, to_device, from_device))
    return bad_copy(error, call, std::string(name_of(call.kind)) + " does not fit a copy from " + whose(call.from) + " to " + whose(call.to));
  if (const std::string why = overrun(call); !why.empty()) return bad_copy(invalid_value, call, why);
  if (call.blocking) {
    if (int error = contract::host_wait(call.caller)) return error;
  }
  const auto target = host_memory::place_of(call.to);
  if (from_device && (target == host_memory::Place::pageable || target == host_memory::Place::pinned)) {
    if (int error = contract::read_back(call.caller)) return error;
  }
  if (to_device && !from_device) {
    if (int error = contract::upload(call.caller, call.row_bytes > SIZE_MAX / call.rows ? SIZE_MAX : call.row_bytes * call.rows)) return error;
  }
  if (int error = contract::work(call.caller, *stream)) return error;
  const int error = backend().copy({reinterpret_cast<uint64_t>(call.to), reinterpret_cast<uint64_t>(call.from), call.row_bytes, call.rows,
                                    call.to_pitch, call.from_pitch, direction(to_device, from_device), stream});
  if (call.blocking && order::watching()) order::host_waited_for_stream(stream->id);
  return error;
}

int copy_batch(const char* caller, void* const* to, const void* const* from, const size_t* sizes, size_t count, const void* attributes,
               const size_t* first, size_t attribute_count, cudaStream_t stream) {
  if (!to || !from || !sizes || !count || !attributes || !first || !attribute_count || attribute_count > count || first[0]) return invalid_value;
  if (!stream || stream == cudaStreamLegacy) return invalid_value;  // a batch has no place on the legacy stream
  for (size_t k = 0; k < count; k++)
    if (!sizes[k]) return invalid_value;
  for (size_t k = 0; k < count; k++)
    if (int error = copy({.caller = caller, .blocking = false, .to = to[k], .from = from[k], .row_bytes = sizes[k], .stream = stream})) return error;
  return success;
}

namespace {
// Registered host memory, which the device can fill too.
int fill_registered(const FillCall& call) {
  for (size_t row = 0; row < call.rows; row++)
    for (size_t k = 0; k < call.row_elements; k++)
      std::memcpy(static_cast<char*>(call.to) + row * call.pitch + k * call.element_bytes, &call.pattern, call.element_bytes);
  return success;
}
}  // namespace

int fill(const FillCall& call) {
  Stream* stream = streams::find(call.stream);
  if (!stream) return cudaErrorInvalidResourceHandle;
  if (!call.row_elements || !call.rows) return success;
  const uint64_t address = reinterpret_cast<uint64_t>(call.to);
  if (!host_memory::on_device(call.to) && host_memory::place_of(call.to) == host_memory::Place::pinned) return fill_registered(call);
  if (!host_memory::on_device(call.to) || address % call.element_bytes || overflows(call.rows, call.pitch)) return invalid_value;
  if (call.rows > 1 && (call.pitch < call.row_elements * call.element_bytes || call.pitch % call.element_bytes)) return invalid_value;
  // The whole range is checked first: a GPU refuses such a call before it writes anything.
  if (call.row_elements > SIZE_MAX / call.element_bytes) return invalid_value;
  const size_t reach = (call.rows - 1) * call.pitch + call.row_elements * call.element_bytes;
  if (!backend().holds(address, reach)) {
    const auto found = backend().find(address);
    return errors::because(invalid_value, "invalid_copy",
                           "the fill needs " + std::to_string(reach) + " B from " + backend().describe(address) + " on, and " +
                               (found && !found->live ? "it was freed before" : "it ends before that"),
                           address);
  }
  if (int error = contract::work(call.caller, *stream)) return error;
  return backend().fill({address, call.pattern, call.element_bytes, call.row_elements, call.rows, call.pitch, stream});
}

namespace {

CopyCall of_3d(const char* caller, bool blocking, const cudaMemcpy3DParms& from, size_t slice, cudaStream_t stream) {
  auto at = [&](const cudaPitchedPtr& pitched, const cudaPos& position) {
    return static_cast<char*>(pitched.ptr) + ((position.z + slice) * pitched.ysize + position.y) * pitched.pitch + position.x;
  };
  return {.caller = caller,
          .blocking = blocking,
          .to = at(from.dstPtr, from.dstPos),
          .from = at(from.srcPtr, from.srcPos),
          .row_bytes = from.extent.width,
          .rows = from.extent.height,
          .to_pitch = from.dstPtr.pitch,
          .from_pitch = from.srcPtr.pitch,
          .kind = from.kind,
          .stream = stream};
}

cudaError_t copy_3d(const char* caller, bool blocking, const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
  const auto body = [&]() -> int {
    if (!parameters) return invalid_value;
    if (parameters->srcArray || parameters->dstArray)
      return unsupported("function", "copies of CUDA arrays", "the CPU engine has no arrays and textures; use linear memory");
    const cudaExtent& extent = parameters->extent;
    if (extent.depth > 1 && extent.width && extent.height)
      for (const auto& [pitched, position] : {std::pair(parameters->srcPtr, parameters->srcPos), std::pair(parameters->dstPtr, parameters->dstPos)}) {
        if (extent.height > pitched.ysize) return cudaErrorInvalidPitchValue;
        if (position.y + extent.height > pitched.ysize) return invalid_value;
      }
    for (size_t slice = 0; slice < parameters->extent.depth; slice++)
      if (int error = copy(of_3d(caller, blocking, *parameters, slice, stream))) return error;
    return success;
  };
  return runtime_call(body, caller);
}

cudaError_t copy_symbol(const char* caller, bool blocking, bool to_symbol, const void* symbol, void* host, size_t bytes, size_t offset,
                        cudaMemcpyKind kind, cudaStream_t stream) {
  const auto body = [&]() -> int {
    Symbol found;
    if (int error = modules::variable_for(symbol, found)) return error;
    if (offset > found.bytes || bytes > found.bytes - offset)
      return errors::because(
          invalid_value, "invalid_copy",
          "the symbol holds " + std::to_string(found.bytes) + " B, less than " + std::to_string(bytes) + " B at offset " + std::to_string(offset),
          found.address);
    const cudaMemcpyKind wrong = to_symbol ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice;
    if (kind == wrong || kind == cudaMemcpyHostToHost) return cudaErrorInvalidMemcpyDirection;
    void* address = reinterpret_cast<void*>(found.address + offset);
    return copy({.caller = caller,
                 .blocking = blocking,
                 .to = to_symbol ? address : host,
                 .from = to_symbol ? host : address,
                 .row_bytes = bytes,
                 .kind = kind,
                 .stream = stream});
  };
  return runtime_call(body, caller);
}

}  // namespace
}  // namespace cudanalyst

using namespace cudanalyst;

// Copies and fills of nothing succeed whatever else is wrong, a broken context included.
CUDANALYST_API cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  if (!bytes) return cudaSuccess;
  return runtime_call([&] { return copy({.caller = "cudaMemcpy", .blocking = true, .to = to, .from = from, .row_bytes = bytes, .kind = kind}); });
}
CUDANALYST_PER_THREAD(cudaMemcpy, _ptds);
CUDANALYST_API cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (!bytes) return cudaSuccess;
  return runtime_call([&] {
    return copy({.caller = "cudaMemcpyAsync", .blocking = false, .to = to, .from = from, .row_bytes = bytes, .kind = kind, .stream = stream});
  });
}
CUDANALYST_PER_THREAD(cudaMemcpyAsync, _ptsz);
CUDANALYST_API cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes) {
  if (!bytes) return cudaSuccess;
  if (to_device || from_device) return finish(cudaErrorInvalidDevice);
  return cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice);
}
CUDANALYST_API cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes, cudaStream_t stream) {
  if (to_device || from_device) return finish(cudaErrorInvalidDevice);
  return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}
CUDANALYST_API cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t rows,
                                        cudaMemcpyKind kind) {
  return runtime_call([&]() -> int {
    if (int error = check_pitches(to_pitch, from_pitch, width, rows)) return error;
    return copy({.caller = "cudaMemcpy2D",
                 .blocking = true,
                 .to = to,
                 .from = from,
                 .row_bytes = width,
                 .rows = rows,
                 .to_pitch = to_pitch,
                 .from_pitch = from_pitch,
                 .kind = kind});
  });
}
CUDANALYST_PER_THREAD(cudaMemcpy2D, _ptds);
CUDANALYST_API cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t rows,
                                             cudaMemcpyKind kind, cudaStream_t stream) {
  return runtime_call([&]() -> int {
    if (int error = check_pitches(to_pitch, from_pitch, width, rows)) return error;
    return copy({.caller = "cudaMemcpy2DAsync",
                 .blocking = false,
                 .to = to,
                 .from = from,
                 .row_bytes = width,
                 .rows = rows,
                 .to_pitch = to_pitch,
                 .from_pitch = from_pitch,
                 .kind = kind,
                 .stream = stream});
  });
}
CUDANALYST_PER_THREAD(cudaMemcpy2DAsync, _ptsz);
CUDANALYST_API cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* parameters) { return copy_3d("cudaMemcpy3D", true, parameters, nullptr); }
CUDANALYST_PER_THREAD(cudaMemcpy3D, _ptds);
CUDANALYST_API cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
  return copy_3d("cudaMemcpy3DAsync", false, parameters, stream);
}
CUDANALYST_PER_THREAD(cudaMemcpy3DAsync, _ptsz);

namespace {
cudaError_t copy_3d_between(const char* caller, bool blocking, const cudaMemcpy3DPeerParms* parameters, cudaStream_t stream) {
  if (!parameters) return finish(invalid_value, caller);
  if (parameters->srcDevice || parameters->dstDevice) return finish(cudaErrorInvalidDevice, caller);
  cudaMemcpy3DParms plain{};
  plain.srcArray = parameters->srcArray;
  plain.srcPos = parameters->srcPos;
  plain.srcPtr = parameters->srcPtr;
  plain.dstArray = parameters->dstArray;
  plain.dstPos = parameters->dstPos;
  plain.dstPtr = parameters->dstPtr;
  plain.extent = parameters->extent;
  plain.kind = cudaMemcpyDefault;
  return copy_3d(caller, blocking, &plain, stream);
}
}  // namespace
CUDANALYST_API cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* parameters) {
  return copy_3d_between("cudaMemcpy3DPeer", true, parameters, nullptr);
}
CUDANALYST_PER_THREAD(cudaMemcpy3DPeer, _ptds);
CUDANALYST_API cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* parameters, cudaStream_t stream) {
  return copy_3d_between("cudaMemcpy3DPeerAsync", false, parameters, stream);
}
CUDANALYST_PER_THREAD(cudaMemcpy3DPeerAsync, _ptsz);
CUDANALYST_API cudaError_t cudaMemcpyBatchAsync(void* const* to, const void* const* from, const size_t* sizes, size_t count,
                                                cudaMemcpyAttributes* attributes, size_t* first, size_t attribute_count, cudaStream_t stream) {
  return runtime_call([&] { return copy_batch("cudaMemcpyBatchAsync", to, from, sizes, count, attributes, first, attribute_count, stream); });
}
CUDANALYST_PER_THREAD(cudaMemcpyBatchAsync, _ptsz);

CUDANALYST_API cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind) {
  return copy_symbol("cudaMemcpyToSymbol", true, true, symbol, const_cast<void*>(from), bytes, offset, kind, nullptr);
}
CUDANALYST_PER_THREAD(cudaMemcpyToSymbol, _ptds);
CUDANALYST_API cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind) {
  return copy_symbol("cudaMemcpyFromSymbol", true, false, symbol, to, bytes, offset, kind, nullptr);
}
CUDANALYST_PER_THREAD(cudaMemcpyFromSymbol, _ptds);
CUDANALYST_API cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind,
                                                   cudaStream_t stream) {
  return copy_symbol("cudaMemcpyToSymbolAsync", false, true, symbol, const_cast<void*>(from), bytes, offset, kind, stream);
}
CUDANALYST_PER_THREAD(cudaMemcpyToSymbolAsync, _ptsz);
CUDANALYST_API cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind,
                                                     cudaStream_t stream) {
  return copy_symbol("cudaMemcpyFromSymbolAsync", false, false, symbol, to, bytes, offset, kind, stream);
}
CUDANALYST_PER_THREAD(cudaMemcpyFromSymbolAsync, _ptsz);

namespace {
cudaError_t fill_bytes(const char* caller, void* to, int value, size_t bytes, size_t rows, size_t pitch, cudaStream_t stream) {
  return runtime_call(
      [&] {
        return fill({.caller = caller,
                     .to = to,
                     .pattern = static_cast<uint8_t>(value),
                     .element_bytes = 1,
                     .row_elements = bytes,
                     .rows = rows,
                     .pitch = pitch,
                     .stream = stream});
      },
      caller);
}

cudaError_t fill_3d(const char* caller, cudaPitchedPtr pitched, int value, cudaExtent extent, cudaStream_t stream) {
  if (extent.depth > 1 && extent.width && extent.height > pitched.ysize) return finish(invalid_value, caller);
  for (size_t slice = 0; slice < extent.depth; slice++) {
    void* at = static_cast<char*>(pitched.ptr) + slice * pitched.ysize * pitched.pitch;
    if (cudaError_t error = fill_bytes(caller, at, value, extent.width, extent.height, pitched.pitch, stream)) return error;
  }
  return cudaSuccess;
}
}  // namespace

CUDANALYST_API cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  if (!bytes) return cudaSuccess;
  return fill_bytes("cudaMemset", to, value, bytes, 1, 0, nullptr);
}
CUDANALYST_PER_THREAD(cudaMemset, _ptds);
CUDANALYST_API cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return fill_bytes("cudaMemsetAsync", to, value, bytes, 1, 0, stream);
}
CUDANALYST_PER_THREAD(cudaMemsetAsync, _ptsz);
CUDANALYST_API cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t rows) {
  return fill_bytes("cudaMemset2D", to, value, width, rows, pitch, nullptr);
}
CUDANALYST_PER_THREAD(cudaMemset2D, _ptds);
CUDANALYST_API cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t rows, cudaStream_t stream) {
  return fill_bytes("cudaMemset2DAsync", to, value, width, rows, pitch, stream);
}
CUDANALYST_PER_THREAD(cudaMemset2DAsync, _ptsz);
CUDANALYST_API cudaError_t cudaMemset3D(cudaPitchedPtr pitched, int value, cudaExtent extent) {
  return fill_3d("cudaMemset3D", pitched, value, extent, nullptr);
}
CUDANALYST_PER_THREAD(cudaMemset3D, _ptds);
CUDANALYST_API cudaError_t cudaMemset3DAsync(cudaPitchedPtr pitched, int value, cudaExtent extent, cudaStream_t stream) {
  return fill_3d("cudaMemset3DAsync", pitched, value, extent, stream);
}
CUDANALYST_PER_THREAD(cudaMemset3DAsync, _ptsz);
