#include "pools.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "../check/order.hpp"
#include "contract.hpp"
#include "host_memory.hpp"
#include "streams.hpp"

namespace cudanalyst::pools {

struct Pool {
  size_t most_bytes = 0;  // 0: no limit
  bool made = true;
  uint64_t threshold = 0, used = 0, used_high = 0, reserved = 0, reserved_high = 0;
  int reuse[3] = {1, 1, 1};
};

namespace {

// As an H200 takes memory from the device.
constexpr uint64_t chunk = uint64_t{32} << 20;
uint64_t round_up(uint64_t bytes, uint64_t to) { return (bytes + to - 1) / to * to; }

struct Block {
  Pool* pool;
  uint64_t bytes;
};

struct Registry {
  Pool standard{.made = false};
  std::set<Pool*> pools{&standard};
  Pool* current = &standard;
  std::map<uint64_t, Block> blocks;
};

Registry& registry() {
  static auto& instance = *new Registry;
  return instance;
}

cudaMemPool_t handle_of(Pool* pool) { return reinterpret_cast<cudaMemPool_t>(pool); }

void count(Pool& pool, uint64_t bytes) {
  pool.used += bytes;
  pool.used_high = std::max(pool.used_high, pool.used);
  pool.reserved = std::max(pool.reserved, round_up(pool.used, chunk));
  pool.reserved_high = std::max(pool.reserved_high, pool.reserved);
}

}  // namespace

Pool* find(cudaMemPool_t handle) {
  auto at = registry().pools.find(reinterpret_cast<Pool*>(handle));
  return at == registry().pools.end() ? nullptr : *at;
}
cudaMemPool_t standard() { return handle_of(&registry().standard); }
cudaMemPool_t current() { return handle_of(registry().current); }

int use(cudaMemPool_t handle) {
  Pool* pool = find(handle);
  if (!pool) return invalid_value;
  registry().current = pool;
  return success;
}

int create(cudaMemPool_t* handle, const cudaMemPoolProps* properties) {
  if (!handle || !properties || properties->allocType != cudaMemAllocationTypePinned) return invalid_value;
  if (properties->location.type != cudaMemLocationTypeDevice) {
    if (properties->location.type == cudaMemLocationTypeInvalid) return invalid_value;
    return unsupported("function", "pools of host memory", "the CPU engine has pools of device memory; allocate with cudaMallocHost");
  }
  if (properties->location.id) return invalid_value;
  if (properties->handleTypes != cudaMemHandleTypeNone)
    return unsupported("function", "pools that other processes can open",
                       "the CPU engine shares nothing between processes; use cudaMemHandleTypeNone");
  Pool* pool = new Pool{.most_bytes = properties->maxSize};
  registry().pools.insert(pool);
  *handle = handle_of(pool);
  return success;
}

int destroy(cudaMemPool_t handle) {
  Pool* pool = find(handle);
  if (!pool || !pool->made) return invalid_value;
  if (registry().current == pool) registry().current = &registry().standard;
  // Not deleted: what was allocated from it lives on.
  registry().pools.erase(pool);
  return success;
}

int allocate(void** pointer, size_t bytes, cudaMemPool_t handle, cudaStream_t stream) {
  Pool* pool = find(handle);
  if (!pool || !pointer) return invalid_value;
  if (!streams::find(stream)) return cudaErrorInvalidResourceHandle;
  const uint64_t size = bytes;
  if (pool->most_bytes && pool->used + size > pool->most_bytes) return out_of_memory;
  if (int error = host_memory::allocate_device(pointer, bytes)) return error;
  if (!*pointer) return success;
  const Stream& in = *streams::find(stream);
  if (order::watching()) order::allocated(reinterpret_cast<uint64_t>(*pointer), in.id, !(in.flags & cudaStreamNonBlocking));
  registry().blocks[reinterpret_cast<uint64_t>(*pointer)] = {pool, size};
  count(*pool, size);
  return success;
}

bool holds(uint64_t address) { return registry().blocks.contains(address); }

void released(uint64_t address) {
  auto at = registry().blocks.find(address);
  if (at == registry().blocks.end()) return;
  Pool& pool = *at->second.pool;
  pool.used -= at->second.bytes;
  if (pool.threshold < pool.reserved) pool.reserved = std::max(round_up(pool.used, chunk), std::min(pool.reserved, pool.threshold / chunk * chunk));
  registry().blocks.erase(at);
}

int trim(cudaMemPool_t handle) {
  Pool* pool = find(handle);
  if (!pool) return invalid_value;
  pool->reserved = round_up(pool->used, chunk);
  return success;
}

int set_attribute(cudaMemPool_t handle, int attribute, const void* value) {
  Pool* pool = find(handle);
  if (!pool || !value) return invalid_value;
  const auto wide = [&] { return *static_cast<const uint64_t*>(value); };
  const int narrow = *static_cast<const int*>(value);
  switch (attribute) {
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies: pool->reuse[attribute - 1] = narrow != 0; return success;
    case cudaMemPoolAttrReleaseThreshold: pool->threshold = wide(); return success;
    // The highest so far can be set back, and to nothing else.
    case cudaMemPoolAttrReservedMemHigh:
      if (wide()) return invalid_value;
      pool->reserved_high = pool->reserved;
      return success;
    case cudaMemPoolAttrUsedMemHigh:
      if (wide()) return invalid_value;
      pool->used_high = pool->used;
      return success;
    default: return invalid_value;
  }
}

int get_attribute(cudaMemPool_t handle, int attribute, void* value) {
  Pool* pool = find(handle);
  if (!pool || !value) return invalid_value;
  const auto wide = [&](uint64_t number) -> int { return *static_cast<uint64_t*>(value) = number, success; };
  switch (attribute) {
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies: *static_cast<int*>(value) = pool->reuse[attribute - 1]; return success;
    case cudaMemPoolAttrReleaseThreshold: return wide(pool->threshold);
    case cudaMemPoolAttrReservedMemCurrent: return wide(pool->reserved);
    case cudaMemPoolAttrReservedMemHigh: return wide(pool->reserved_high);
    case cudaMemPoolAttrUsedMemCurrent: return wide(pool->used);
    case cudaMemPoolAttrUsedMemHigh: return wide(pool->used_high);
    default: return invalid_value;
  }
}

int set_access(cudaMemPool_t handle, const cudaMemAccessDesc* access, size_t count) {
  if (!find(handle) || (count && !access)) return invalid_value;
  for (size_t k = 0; k < count; k++) {
    if (access[k].location.type != cudaMemLocationTypeDevice) return invalid_value;
    if (access[k].location.id) return cudaErrorInvalidDevice;
    if (access[k].flags != cudaMemAccessFlagsProtReadWrite) return cudaErrorInvalidDevice;  // the device keeps what is its own
  }
  return success;
}

int get_access(cudaMemAccessFlags* flags, cudaMemPool_t handle, const cudaMemLocation* place) {
  if (!flags || !place || !find(handle) || place->type != cudaMemLocationTypeDevice) return invalid_value;
  if (place->id) return cudaErrorInvalidDevice;
  *flags = cudaMemAccessFlagsProtReadWrite;
  return success;
}

}  // namespace cudanalyst::pools

using namespace cudanalyst;

namespace {
int give(cudaMemPool_t* pool, cudaMemPool_t value, int device) {
  if (device) return cudaErrorInvalidDevice;
  return pool ? (*pool = value, success) : invalid_value;
}
int allocate(const char* caller, void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  if (int error = contract::allocation(caller)) return error;
  return pools::allocate(pointer, bytes, pool, stream);
}
int own(const cudaMemLocation* place) {
  if (!place || place->type != cudaMemLocationTypeDevice) return invalid_value;
  return place->id ? static_cast<int>(cudaErrorInvalidDevice) : 0;
}
void** address_of(CUdeviceptr* address) { return reinterpret_cast<void**>(address); }
}  // namespace

CUDANALYST_API cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  Guard guard(api_mutex());  // as on an H200, a broken context does not stop this
  return finish(give(pool, pools::standard(), device));
}
CUDANALYST_API cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return runtime_call([&] { return give(pool, pools::current(), device); });
}
CUDANALYST_API cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  return runtime_call([&]() -> int { return device ? static_cast<int>(cudaErrorInvalidDevice) : pools::use(pool); });
}
CUDANALYST_API cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t* pool, cudaMemLocation* place, cudaMemAllocationType) {
  return runtime_call([&]() -> int {
    if (int error = own(place)) return error;
    return give(pool, pools::standard(), 0);
  });
}
CUDANALYST_API cudaError_t cudaMemGetMemPool(cudaMemPool_t* pool, cudaMemLocation* place, cudaMemAllocationType) {
  return runtime_call([&]() -> int {
    if (int error = own(place)) return error;
    return give(pool, pools::current(), 0);
  });
}
CUDANALYST_API cudaError_t cudaMemSetMemPool(cudaMemLocation* place, cudaMemAllocationType, cudaMemPool_t pool) {
  return runtime_call([&]() -> int {
    if (int error = own(place)) return error;
    return pools::use(pool);
  });
}
CUDANALYST_API cudaError_t cudaMemPoolCreate(cudaMemPool_t* handle, const cudaMemPoolProps* properties) {
  return runtime_call([&] { return pools::create(handle, properties); });
}
CUDANALYST_API cudaError_t cudaMemPoolDestroy(cudaMemPool_t handle) {
  return runtime_call([&] { return pools::destroy(handle); });
}
CUDANALYST_API cudaError_t cudaMemPoolTrimTo(cudaMemPool_t handle, size_t) {
  return runtime_call([&] { return pools::trim(handle); });
}
CUDANALYST_API cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  return runtime_call([&] { return pools::set_attribute(handle, attribute, value); });
}
CUDANALYST_API cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  return runtime_call([&] { return pools::get_attribute(handle, attribute, value); });
}
CUDANALYST_API cudaError_t cudaMemPoolSetAccess(cudaMemPool_t handle, const cudaMemAccessDesc* access, size_t count) {
  return runtime_call([&] { return pools::set_access(handle, access, count); });
}
CUDANALYST_API cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t handle, cudaMemLocation* place) {
  return runtime_call([&] { return pools::get_access(flags, handle, place); });
}
CUDANALYST_API cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  return runtime_call([&] { return allocate("cudaMallocFromPoolAsync", pointer, bytes, pool, stream); });
}
CUDANALYST_PER_THREAD(cudaMallocFromPoolAsync, _ptsz);
CUDANALYST_API cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  return runtime_call([&] { return allocate("cudaMallocAsync", pointer, bytes, pools::current(), stream); });
}
CUDANALYST_PER_THREAD(cudaMallocAsync, _ptsz);
CUDANALYST_API cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  return runtime_call([&]() -> int {
    if (int error = contract::allocation("cudaFreeAsync")) return error;
    return host_memory::free_async(pointer, stream);
  });
}
CUDANALYST_PER_THREAD(cudaFreeAsync, _ptsz);

// The driver's types are the runtime's.
CUDANALYST_API CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  return driver_call([&] { return give(pool, pools::standard(), device); });
}
CUDANALYST_API CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
  return driver_call([&] { return give(pool, pools::current(), device); });
}
CUDANALYST_API CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
  return driver_call([&]() -> int { return device ? static_cast<int>(CUDA_ERROR_INVALID_DEVICE) : pools::use(pool); });
}
CUDANALYST_API CUresult cuMemPoolCreate(CUmemoryPool* handle, const CUmemPoolProps* properties) {
  static_assert(sizeof(CUmemPoolProps) == sizeof(cudaMemPoolProps));
  return driver_call([&] { return pools::create(handle, reinterpret_cast<const cudaMemPoolProps*>(properties)); });
}
CUDANALYST_API CUresult cuMemPoolDestroy(CUmemoryPool handle) {
  return driver_call([&] { return pools::destroy(handle); });
}
CUDANALYST_API CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t) {
  return driver_call([&] { return pools::trim(handle); });
}
CUDANALYST_API CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  return driver_call([&] { return pools::set_attribute(handle, attribute, value); });
}
CUDANALYST_API CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  return driver_call([&] { return pools::get_attribute(handle, attribute, value); });
}
CUDANALYST_API CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc* access, size_t count) {
  return driver_call([&] { return pools::set_access(handle, reinterpret_cast<const cudaMemAccessDesc*>(access), count); });
}
CUDANALYST_API CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool handle, CUmemLocation* place) {
  return driver_call(
      [&] { return pools::get_access(reinterpret_cast<cudaMemAccessFlags*>(flags), handle, reinterpret_cast<const cudaMemLocation*>(place)); });
}
CUDANALYST_API CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool pool, CUstream stream) {
  return driver_call([&] { return allocate("cuMemAllocFromPoolAsync", address_of(address), bytes, pool, stream); });
}
CUDANALYST_API CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
  return driver_call([&] { return allocate("cuMemAllocAsync", address_of(address), bytes, pools::current(), stream); });
}
CUDANALYST_API CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  return driver_call([&]() -> int {
    if (int error = contract::allocation("cuMemFreeAsync")) return error;
    return host_memory::free_async(reinterpret_cast<void*>(address), stream);
  });
}
