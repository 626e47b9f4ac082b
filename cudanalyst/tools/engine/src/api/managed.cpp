// What programs say about where memory should be: hints, as there is one memory, which are checked and told back as a GPU's driver does.
#include <map>

#include "errors.hpp"
#include "host_memory.hpp"
#include "streams.hpp"

namespace cudanalyst::host_memory {
namespace {

constexpr int nowhere = -2, the_host = -1;  // cudaInvalidDeviceId, cudaCpuDeviceId

struct Hints {
  bool read_mostly = false, accessed = false, accessed_by_host = false;
  int preferred = nowhere, prefetched = nowhere;
};

// Of whole allocations, by address.
std::map<uint64_t, Hints>& all_hints() {
  static auto& instance = *new std::map<uint64_t, Hints>;
  return instance;
}

// The managed allocation that holds the range, or nullptr.
Hints* managed(const void* pointer, size_t bytes) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  if (place_of(pointer) != Place::managed || !bytes) return nullptr;
  const auto found = backend().find(address);
  if (!found || !found->live || bytes > found->bytes - (address - found->address)) return nullptr;
  return &all_hints()[found->address];
}

int location(int type, int id, int& place) {
  switch (type) {
    case cudaMemLocationTypeDevice: place = 0; return id ? static_cast<int>(cudaErrorInvalidDevice) : 0;
    case cudaMemLocationTypeHost:
    case cudaMemLocationTypeHostNuma:
    case cudaMemLocationTypeHostNumaCurrent: place = the_host; return success;
    default: return invalid_value;
  }
}

}  // namespace

int prefetch(const void* pointer, size_t bytes, int type, int id, unsigned flags, cudaStream_t stream) {
  int place = nowhere;
  if (int error = location(type, id, place)) return error;
  if (flags) return invalid_value;
  if (!streams::find(stream)) return cudaErrorInvalidResourceHandle;
  Hints* hints = managed(pointer, bytes);
  if (!hints) return invalid_value;
  hints->prefetched = place;
  return success;
}

int advise(const void* pointer, size_t bytes, int advice, int type, int id) {
  int place = nowhere;
  const bool of_a_place = advice >= cudaMemAdviseSetPreferredLocation && advice != cudaMemAdviseUnsetPreferredLocation;
  if (of_a_place)
    if (location(type, id, place)) return invalid_value;
  Hints* hints = managed(pointer, bytes);
  if (!hints) return invalid_value;
  switch (advice) {
    case cudaMemAdviseSetReadMostly: hints->read_mostly = true; return success;
    case cudaMemAdviseUnsetReadMostly: hints->read_mostly = false; return success;
    case cudaMemAdviseSetPreferredLocation: hints->preferred = place; return success;
    case cudaMemAdviseUnsetPreferredLocation: hints->preferred = nowhere; return success;
    case cudaMemAdviseSetAccessedBy: (place ? hints->accessed_by_host : hints->accessed) = true; return success;
    case cudaMemAdviseUnsetAccessedBy: (place ? hints->accessed_by_host : hints->accessed) = false; return success;
    default: return invalid_value;
  }
}

int range_attribute(void* data, size_t bytes, int id, const void* pointer, size_t range) {
  const Hints* hints = managed(pointer, range);
  if (!data || !hints) return invalid_value;
  const auto give = [&](int value) -> int {
    if (bytes != sizeof value) return invalid_value;
    *static_cast<int*>(data) = value;
    return success;
  };
  const auto type_of = [](int place) -> int {
    return place == nowhere ? cudaMemLocationTypeInvalid : place == the_host ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
  };
  switch (id) {
    case cudaMemRangeAttributeReadMostly: return give(hints->read_mostly);
    case cudaMemRangeAttributePreferredLocation: return give(hints->preferred);
    case cudaMemRangeAttributeLastPrefetchLocation: return give(hints->prefetched);
    case cudaMemRangeAttributePreferredLocationType: return give(type_of(hints->preferred));
    case cudaMemRangeAttributePreferredLocationId: return give(hints->preferred == 0 ? 0 : nowhere);
    case cudaMemRangeAttributeLastPrefetchLocationType: return give(type_of(hints->prefetched));
    case cudaMemRangeAttributeLastPrefetchLocationId: return give(hints->prefetched == 0 ? 0 : nowhere);
    case cudaMemRangeAttributeAccessedBy: {
      if (!bytes || bytes % sizeof(int)) return invalid_value;
      auto* list = static_cast<int*>(data);
      size_t count = 0;
      if (hints->accessed) list[count++] = 0;
      if (hints->accessed_by_host && count < bytes / sizeof(int)) list[count++] = the_host;
      while (count < bytes / sizeof(int)) list[count++] = nowhere;
      return success;
    }
    default: return invalid_value;
  }
}

int attach(cudaStream_t handle, const void* pointer, size_t bytes, unsigned flags) {
  if (!streams::find(handle)) return cudaErrorInvalidResourceHandle;
  if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost && flags != cudaMemAttachSingle) return invalid_value;
  const auto found = backend().find(reinterpret_cast<uint64_t>(pointer));
  if (place_of(pointer) != Place::managed || !found || found->address != reinterpret_cast<uint64_t>(pointer)) return invalid_value;
  return !bytes || bytes == found->bytes ? success : invalid_value;
}

}  // namespace cudanalyst::host_memory

using namespace cudanalyst;

CUDANALYST_API cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice, cudaMemLocation place) {
  return runtime_call([&] { return host_memory::advise(pointer, bytes, advice, place.type, place.id); });
}
CUDANALYST_API cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, cudaMemLocation place, unsigned flags, cudaStream_t stream) {
  return runtime_call([&] { return host_memory::prefetch(pointer, bytes, place.type, place.id, flags, stream); });
}
CUDANALYST_PER_THREAD(cudaMemPrefetchAsync, _ptsz);
CUDANALYST_API cudaError_t cudaMemRangeGetAttribute(void* data, size_t bytes, cudaMemRangeAttribute id, const void* pointer, size_t range) {
  return runtime_call([&] { return host_memory::range_attribute(data, bytes, id, pointer, range); });
}
CUDANALYST_API cudaError_t cudaMemRangeGetAttributes(void** data, size_t* bytes, cudaMemRangeAttribute* ids, size_t count, const void* pointer,
                                                     size_t range) {
  return runtime_call([&]() -> int {
    if (!data || !bytes || !ids || !count) return invalid_value;
    for (size_t k = 0; k < count; k++)
      if (int error = host_memory::range_attribute(data[k], bytes[k], ids[k], pointer, range)) return error;
    return success;
  });
}

CUDANALYST_API CUresult cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation place) {
  return driver_call([&] { return host_memory::advise(reinterpret_cast<void*>(address), bytes, advice, place.type, place.id); });
}
CUDANALYST_API CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUmemLocation place, unsigned flags, CUstream stream) {
  return driver_call([&] { return host_memory::prefetch(reinterpret_cast<void*>(address), bytes, place.type, place.id, flags, stream); });
}
CUDANALYST_API CUresult cuMemRangeGetAttribute(void* data, size_t bytes, CUmem_range_attribute id, CUdeviceptr address, size_t range) {
  return driver_call([&] { return host_memory::range_attribute(data, bytes, id, reinterpret_cast<void*>(address), range); });
}
