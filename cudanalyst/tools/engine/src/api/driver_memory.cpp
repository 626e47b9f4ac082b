// The driver API: registered memory, what a pointer is, copies between contexts and of boxes.
#include <cstring>

#include "contexts.hpp"
#include "copy.hpp"
#include "host_memory.hpp"

using namespace cudanalyst;

namespace {

void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

template <typename T>
int give(void* data, T value) {
  std::memcpy(data, &value, sizeof value);
  return success;
}

int pointer_attribute(void* data, int id, CUdeviceptr address) {
  using host_memory::Place;
  if (!data) return invalid_value;
  const Place place = host_memory::place_of(pointer(address));
  const auto found = backend().find(address);
  if (place == Place::pageable || !found) return invalid_value;
  const bool of_host = place == Place::pinned;
  switch (id) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: return give(data, place == Place::managed ? nullptr : contexts::current());
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: return give<unsigned>(data, of_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: return give(data, address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER: return place == Place::device ? static_cast<int>(invalid_value) : give(data, address);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: return give<int>(data, place == Place::managed);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: return give<unsigned long long>(data, found->address >> 8);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: return give<int>(data, place == Place::managed);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return give<int>(data, 0);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE: return give<int>(data, place == Place::device);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: return give<CUdeviceptr>(data, found->address);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: return give<size_t>(data, found->bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED: return give<int>(data, 1);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: return give<unsigned long long>(data, 0);
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: return give<int>(data, place == Place::device);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: return give<int>(data, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: return give<void*>(data, nullptr);
    default: return invalid_value;
  }
}

template <typename Body>
CUresult allocating(const char* function, Body&& body) {
  return driver_call([&]() -> int {
    if (int error = contract::allocation(function)) return error;
    return body();
  });
}

// One side of a copied box: where its first byte lies. Arrays are not known here.
struct Side {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  size_t x, y, z, pitch, height;
  bool valid() const { return type == CU_MEMORYTYPE_HOST || type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED; }
  const char* at(size_t slice) const {
    const auto* base = static_cast<const char*>(type == CU_MEMORYTYPE_HOST ? host : pointer(device));
    return base + ((z + slice) * height + y) * pitch + x;
  }
};

CUresult copy_box(const char* caller, bool blocking, const CUDA_MEMCPY3D* box, CUstream stream) {
  return driver_call([&]() -> int {
    if (!box) return invalid_value;
    if (box->srcMemoryType == CU_MEMORYTYPE_ARRAY || box->dstMemoryType == CU_MEMORYTYPE_ARRAY)
      return unsupported("function", "copies of CUDA arrays", "the CPU engine has no arrays and textures; use linear memory");
    const auto or_width = [&](size_t pitch) { return pitch ? pitch : box->WidthInBytes; };
    const auto or_height = [&](size_t height) { return height ? height : box->Height; };
    const Side to{box->dstMemoryType, box->dstHost, box->dstDevice,          box->dstXInBytes,
                  box->dstY,          box->dstZ,    or_width(box->dstPitch), or_height(box->dstHeight)};
    const Side from{box->srcMemoryType, box->srcHost, box->srcDevice,          box->srcXInBytes,
                    box->srcY,          box->srcZ,    or_width(box->srcPitch), or_height(box->srcHeight)};
    if (!to.valid() || !from.valid()) return invalid_value;
    for (const Side& side : {to, from})
      if (side.x + box->WidthInBytes > side.pitch || (box->Depth > 1 && side.y + box->Height > side.height)) return invalid_value;
    for (size_t slice = 0; slice < box->Depth; slice++)
      if (int error = copy({.caller = caller,
                            .blocking = blocking,
                            .to = const_cast<char*>(to.at(slice)),
                            .from = from.at(slice),
                            .row_bytes = box->WidthInBytes,
                            .rows = box->Height,
                            .to_pitch = to.pitch,
                            .from_pitch = from.pitch,
                            .kind = cudaMemcpyDefault,
                            .stream = stream}))
        return error;
    return success;
  });
}

CUresult copy_between(const char* caller, bool blocking, CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,
                      CUstream stream) {
  return driver_call([&]() -> int {
    if (!contexts::known(to_context) || !contexts::known(from_context)) return CUDA_ERROR_INVALID_CONTEXT;
    return copy({.caller = caller,
                 .blocking = blocking,
                 .to = pointer(to),
                 .from = pointer(from),
                 .row_bytes = bytes,
                 .kind = cudaMemcpyDeviceToDevice,
                 .stream = stream});
  });
}

}  // namespace

CUDANALYST_API CUresult cuPointerGetAttribute(void* data, CUpointer_attribute id, CUdeviceptr address) {
  return driver_call([&] { return pointer_attribute(data, id, address); });
}
CUDANALYST_API CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* ids, void** data, CUdeviceptr address) {
  return driver_call([&]() -> int {
    if (!count || !ids || !data) return invalid_value;
    // One that has no answer gives zeros; the whole succeeds.
    for (unsigned k = 0; k < count; k++) {
      unsigned long long value = 0;
      if (int error = pointer_attribute(&value, ids[k], address); error && error != invalid_value) return error;
      const bool wide = ids[k] == CU_POINTER_ATTRIBUTE_CONTEXT || ids[k] == CU_POINTER_ATTRIBUTE_DEVICE_POINTER ||
                        ids[k] == CU_POINTER_ATTRIBUTE_HOST_POINTER || ids[k] == CU_POINTER_ATTRIBUTE_BUFFER_ID ||
                        ids[k] == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR || ids[k] == CU_POINTER_ATTRIBUTE_RANGE_SIZE ||
                        ids[k] == CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES || ids[k] == CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE;
      std::memcpy(data[k], &value, wide ? 8 : 4);
    }
    return success;
  });
}
CUDANALYST_API CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute id, CUdeviceptr address) {
  return driver_call([&]() -> int {
    // Copies are over when they return in any case.
    const bool device = host_memory::place_of(pointer(address)) == host_memory::Place::device && backend().find(address);
    return value && id == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS && device ? success : invalid_value;
  });
}

CUDANALYST_API CUresult cuMemHostRegister(void* host, size_t bytes, unsigned flags) {
  return allocating("cuMemHostRegister", [&] { return host_memory::register_range(host, bytes, flags); });
}
CUDANALYST_API CUresult cuMemHostUnregister(void* host) {
  return allocating("cuMemHostUnregister", [&] { return host_memory::unregister_range(host); });
}
CUDANALYST_API CUresult cuMemHostGetFlags(unsigned* flags, void* host) {
  return driver_call([&]() -> int { return flags && host_memory::pinned_flags(host, *flags) ? success : invalid_value; });
}

CUDANALYST_API CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes) {
  return copy_between("cuMemcpyPeer", true, to, to_context, from, from_context, bytes, nullptr);
}
CUDANALYST_API CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,
                                          CUstream stream) {
  return copy_between("cuMemcpyPeerAsync", false, to, to_context, from, from_context, bytes, stream);
}
CUDANALYST_API CUresult cuMemcpy3D(const CUDA_MEMCPY3D* box) { return copy_box("cuMemcpy3D", true, box, nullptr); }
CUDANALYST_API CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D* box, CUstream stream) { return copy_box("cuMemcpy3DAsync", false, box, stream); }
CUDANALYST_API CUresult cuMemcpyBatchAsync(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes, size_t count, CUmemcpyAttributes* attributes,
                                           size_t* first, size_t attribute_count, CUstream stream) {
  return driver_call([&] {
    return copy_batch("cuMemcpyBatchAsync", reinterpret_cast<void**>(to), reinterpret_cast<void**>(from), sizes, count, attributes, first,
                      attribute_count, stream);
  });
}
