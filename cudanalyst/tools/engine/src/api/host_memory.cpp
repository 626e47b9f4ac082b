#include "host_memory.hpp"

#include <map>

#include "../check/order.hpp"
#include "contract.hpp"
#include "device.hpp"
#include "errors.hpp"
#include "modules.hpp"
#include "pools.hpp"
#include "streams.hpp"

namespace cudanalyst::host_memory {
namespace {

struct Range {
  size_t bytes;
  unsigned flags;
  uint64_t mapped = 0;  // where kernels reach the pages of registered memory
};

struct Registry {
  std::map<uint64_t, Range> pinned, registered;
};

Registry& registry() {
  static auto& instance = *new Registry;
  return instance;
}

const Range* holding(const std::map<uint64_t, Range>& ranges, uint64_t address) {
  auto at = ranges.upper_bound(address);
  if (at == ranges.begin()) return nullptr;
  --at;
  return address - at->first < at->second.bytes ? &at->second : nullptr;
}

bool overlaps(const std::map<uint64_t, Range>& ranges, uint64_t address, size_t bytes) {
  auto next = ranges.lower_bound(address);
  return holding(ranges, address) || (next != ranges.end() && next->first - address < bytes);
}

uint64_t number(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

int allocate(void** pointer, size_t bytes, memory::Kind kind) {
  if (!pointer) return invalid_value;
  *pointer = nullptr;
  if (!bytes) return success;
  const uint64_t address = backend().allocate(bytes, kind);
  if (!address) return out_of_memory;
  *pointer = reinterpret_cast<void*>(address);
  return success;
}

}  // namespace

Place place_of(const void* pointer) {
  if (holding(registry().pinned, number(pointer)) || holding(registry().registered, number(pointer))) return Place::pinned;
  if (!backend().on_device(pointer)) return Place::pageable;
  const auto found = backend().find(number(pointer));
  if (found && !found->live) return Place::pageable;
  return found && found->kind == memory::Kind::managed ? Place::managed : Place::device;
}

int allocate_device(void** pointer, size_t bytes) { return allocate(pointer, bytes, memory::Kind::device); }

int allocate_managed(void** pointer, size_t bytes, unsigned flags) {
  if (int error = contract::host_memory("managed memory")) return error;
  if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost) return invalid_value;
  return allocate(pointer, bytes, memory::Kind::managed);
}

// Kernels reach pinned memory at the host's address, so it comes from memory that both sides see.
int allocate_pinned(void** pointer, size_t bytes, unsigned flags) {
  if (int error = contract::host_memory("pinned memory")) return error;
  if (flags & ~(cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined)) return invalid_value;
  const int error = allocate(pointer, bytes, memory::Kind::managed);
  if (!error && *pointer) registry().pinned[number(*pointer)] = {bytes, (flags & ~cudaHostAllocPortable) | cudaHostAllocMapped};
  return error;
}

int allocate_pitch(void** pointer, size_t& pitch, size_t width, size_t rows) {
  const auto unit = static_cast<size_t>(device::attribute(cudaDevAttrTextureAlignment));
  if (!pointer) return invalid_value;
  if (!width || !rows) {
    *pointer = nullptr;
    pitch = 0;
    return success;
  }
  if (width > backend().total_bytes()) return rows > backend().total_bytes() ? invalid_value : out_of_memory;  // as an H200 says
  const size_t rounded = (width + unit - 1) / unit * unit;
  if (rounded > SIZE_MAX / rows) return invalid_value;
  const int error = allocate_device(pointer, rounded * rows);
  if (!error) pitch = rounded;
  return error;
}

namespace {
// Releases, or says why the pointer cannot be freed.
int release(void* pointer, const char* wanted) {
  const uint64_t address = number(pointer);
  const auto found = backend().find(address);
  const bool of_the_api = !found || found->kind == memory::Kind::device || found->kind == memory::Kind::managed;
  if (of_the_api && backend().release(address) == success) {
    pools::released(address);
    return success;
  }
  if (!found)
    return errors::because(invalid_value, "invalid_free", std::string("the pointer is not one that ") + wanted + " gave",
                           backend().on_device(pointer) ? address : 0);
  if (!found->live) return errors::because(invalid_value, "double_free", "it was freed before", address);
  return errors::because(invalid_value, "invalid_free", "the pointer is not the start of its allocation", address);
}
}  // namespace

int free_device(void* pointer) {
  if (!pointer) return success;
  if (registry().pinned.contains(number(pointer)))
    return errors::because(invalid_value, "invalid_free", "the memory is pinned host memory: free it with cudaFreeHost", number(pointer));
  if (modules::is_managed_variable(pointer))
    return errors::because(invalid_value, "invalid_free", "the memory is a __managed__ variable", number(pointer));
  return release(pointer, "cudaMalloc");
}

int free_async(void* pointer, cudaStream_t stream) {
  if (!streams::find(stream)) return cudaErrorInvalidResourceHandle;
  if (!pointer) return success;
  const auto found = backend().find(number(pointer));
  if (found && found->live && place_of(pointer) == Place::managed) return cudaErrorNotSupported;
  const Stream& in = *streams::find(stream);
  if (order::watching()) order::freed(number(pointer), in.id, !(in.flags & cudaStreamNonBlocking));
  return free_device(pointer);
}

int free_pinned(void* pointer) {
  if (!pointer) return success;
  if (!registry().pinned.erase(number(pointer))) {
    const auto found = backend().find(number(pointer));
    const bool twice = found && !found->live;
    return errors::because(invalid_value, twice ? "double_free" : "invalid_free",
                           twice ? "it was freed before" : "the pointer is not one that cudaMallocHost or cudaHostAlloc gave");
  }
  return release(pointer, "cudaMallocHost");
}

int register_range(void* pointer, size_t bytes, unsigned flags) {
  if (int error = contract::host_memory("registered memory")) return error;
  constexpr unsigned known = cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterIoMemory | cudaHostRegisterReadOnly;
  if (!pointer || !bytes || flags & ~known) return invalid_value;
  if (backend().on_device(pointer)) return invalid_value;
  const uint64_t address = number(pointer);
  if (overlaps(registry().registered, address, bytes)) return cudaErrorHostMemoryAlreadyRegistered;
  registry().registered[address] = {bytes, (flags & ~cudaHostRegisterPortable) | cudaHostRegisterMapped};
  return success;
}

int unregister_range(void* pointer) {
  if (!pointer) return invalid_value;
  auto at = registry().registered.find(number(pointer));
  if (at == registry().registered.end())
    return place_of(pointer) == Place::pinned ? static_cast<int>(invalid_value) : cudaErrorHostMemoryNotRegistered;
  if (at->second.mapped) {
    memory::take_back(at->second.mapped, number(pointer), at->second.bytes);
    backend().release(at->second.mapped);
  }
  registry().registered.erase(at);
  return success;
}

// Registered memory becomes the device's when its address there is asked for: from then on both sides share its pages.
int device_pointer(void** result, void* pointer, unsigned flags) {
  if (!result || flags) return invalid_value;
  if (holding(registry().pinned, number(pointer))) return *result = pointer, success;
  const uint64_t address = number(pointer);
  auto at = registry().registered.upper_bound(address);
  if (at == registry().registered.begin()) return invalid_value;
  auto& [start, range] = *--at;
  if (address - start >= range.bytes) return invalid_value;
  if (!range.mapped) range.mapped = memory::adopt(start, range.bytes);
  if (!range.mapped)
    return unsupported("function", "cudaHostGetDevicePointer",
                       "this memory cannot be mapped for the CPU engine's kernels; allocate it with cudaHostAlloc");
  *result = reinterpret_cast<void*>(range.mapped + memory::offset_in_page(start) + (address - start));
  return success;
}

bool pinned_flags(const void* pointer, unsigned& flags) {
  const Range* found = holding(registry().pinned, number(pointer));
  if (!found) found = holding(registry().registered, number(pointer));
  if (found) flags = found->flags;
  return found;
}

}  // namespace cudanalyst::host_memory

using namespace cudanalyst;
using namespace cudanalyst::host_memory;

namespace {
template <typename Body>
cudaError_t allocating(const char* function, Body&& body) {
  const auto allowed = [&]() -> int {
    if (int error = contract::allocation(function)) return error;
    return body();
  };
  return runtime_call(allowed, function);
}
}  // namespace

CUDANALYST_API cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  if (!pointer) return finish(invalid_value);
  return allocating("cudaMalloc", [&] { return allocate_device(pointer, bytes); });
}
CUDANALYST_API cudaError_t cudaFree(void* pointer) {
  return allocating("cudaFree", [&] {
    if (order::watching()) order::host_waited_for_all();
    return free_device(pointer);
  });
}
CUDANALYST_API cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned flags) {
  return allocating("cudaMallocManaged", [&] { return allocate_managed(pointer, bytes, flags); });
}
CUDANALYST_API cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  return allocating("cudaHostAlloc", [&] { return allocate_pinned(pointer, bytes, flags); });
}
CUDANALYST_API cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  return allocating("cudaMallocHost", [&] { return allocate_pinned(pointer, bytes, cudaHostAllocDefault); });
}
CUDANALYST_API cudaError_t cudaFreeHost(void* pointer) {
  return allocating("cudaFreeHost", [&] { return free_pinned(pointer); });
}
CUDANALYST_API cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t rows) {
  return allocating("cudaMallocPitch", [&]() -> int { return pitch ? allocate_pitch(pointer, *pitch, width, rows) : invalid_value; });
}
CUDANALYST_API cudaError_t cudaMalloc3D(cudaPitchedPtr* pitched, cudaExtent extent) {
  return allocating("cudaMalloc3D", [&]() -> int {
    if (!pitched) return invalid_value;
    pitched->xsize = extent.width;
    pitched->ysize = extent.height;
    return allocate_pitch(&pitched->ptr, pitched->pitch, extent.width, extent.height * extent.depth);
  });
}
CUDANALYST_API cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned flags) {
  return allocating("cudaHostRegister", [&] { return register_range(pointer, bytes, flags); });
}
CUDANALYST_API cudaError_t cudaHostUnregister(void* pointer) {
  return allocating("cudaHostUnregister", [&] { return unregister_range(pointer); });
}
CUDANALYST_API cudaError_t cudaHostGetDevicePointer(void** address, void* pointer, unsigned flags) {
  return runtime_call([&] { return device_pointer(address, pointer, flags); });
}
CUDANALYST_API cudaError_t cudaHostGetFlags(unsigned* flags, void* pointer) {
  return runtime_call([&]() -> int { return flags && pinned_flags(pointer, *flags) ? success : invalid_value; });
}

CUDANALYST_API cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return runtime_call([&]() -> int {
    if (free) *free = backend().free_bytes();
    if (total) *total = backend().total_bytes();
    return success;
  });
}

CUDANALYST_API cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  const auto body = [&]() -> int {
    if (!attributes) return invalid_value;
    const bool known = backend().on_device(pointer) && backend().find(reinterpret_cast<uint64_t>(pointer)).has_value();
    Place place = place_of(pointer);
    if (place == Place::device && !known) place = Place::pageable;
    void* address = const_cast<void*>(pointer);
    *attributes = {};
    attributes->device = place == Place::pageable ? -2 : 0;
    attributes->devicePointer = place == Place::pageable ? nullptr : address;
    attributes->hostPointer = place == Place::device ? nullptr : address;
    switch (place) {
      case Place::pageable: attributes->type = cudaMemoryTypeUnregistered; break;
      case Place::pinned: attributes->type = cudaMemoryTypeHost; break;
      case Place::device: attributes->type = cudaMemoryTypeDevice; break;
      case Place::managed: attributes->type = cudaMemoryTypeManaged; break;
    }
    return success;
  };
  // As on an H200, a broken context does not stop this.
  Guard guard(api_mutex());
  return finish(body());
}
