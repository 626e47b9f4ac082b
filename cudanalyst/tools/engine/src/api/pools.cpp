// Stream-ordered allocation. Pools hold no memory of their own: what is freed goes straight back, so thresholds are only kept.
#include <map>
#include <set>

#include "contract.hpp"
#include "host_memory.hpp"
#include "streams.hpp"

using namespace cudanalyst;

namespace {

struct Pool {
  std::map<int, uint64_t> attributes;
};

struct Registry {
  Pool standard;
  std::set<Pool*> pools{&standard};
  Pool* current = &standard;
};

Registry& registry() {
  static auto& instance = *new Registry;
  return instance;
}

Pool* find(cudaMemPool_t handle) {
  auto at = registry().pools.find(reinterpret_cast<Pool*>(handle));
  return at == registry().pools.end() ? nullptr : *at;
}

cudaMemPool_t handle_of(Pool* pool) { return reinterpret_cast<cudaMemPool_t>(pool); }

template <typename Body>
cudaError_t of_pool(cudaMemPool_t handle, Body&& body, const char* caller = __builtin_FUNCTION()) {
  return runtime_call(
      [&]() -> int {
        Pool* pool = find(handle);
        return pool ? body(*pool) : static_cast<int>(invalid_value);
      },
      caller);
}

bool is_wide(cudaMemPoolAttr attribute) { return attribute >= cudaMemPoolAttrReleaseThreshold; }

}  // namespace

CUDANALYST_API cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return runtime_call(
      [&]() -> int { return device ? static_cast<int>(cudaErrorInvalidDevice) : (*pool = handle_of(&registry().standard), success); });
}
CUDANALYST_API cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return runtime_call([&]() -> int { return device ? static_cast<int>(cudaErrorInvalidDevice) : (*pool = handle_of(registry().current), success); });
}
CUDANALYST_API cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t handle) {
  if (device) return finish(cudaErrorInvalidDevice);
  return of_pool(handle, [](Pool& pool) {
    registry().current = &pool;
    return 0;
  });
}
CUDANALYST_API cudaError_t cudaMemPoolCreate(cudaMemPool_t* handle, const cudaMemPoolProps* properties) {
  return runtime_call([&]() -> int {
    if (!handle || !properties) return invalid_value;
    Pool* pool = new Pool;
    registry().pools.insert(pool);
    *handle = handle_of(pool);
    return success;
  });
}
CUDANALYST_API cudaError_t cudaMemPoolDestroy(cudaMemPool_t handle) {
  return of_pool(handle, [](Pool& pool) -> int {
    if (&pool == &registry().standard) return invalid_value;
    if (registry().current == &pool) registry().current = &registry().standard;
    registry().pools.erase(&pool);
    delete &pool;
    return success;
  });
}
CUDANALYST_API cudaError_t cudaMemPoolTrimTo(cudaMemPool_t handle, size_t) {
  return of_pool(handle, [](Pool&) { return 0; });
}
CUDANALYST_API cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  return of_pool(handle, [&](Pool& pool) {
    pool.attributes[attribute] = is_wide(attribute) ? *static_cast<uint64_t*>(value) : static_cast<uint64_t>(*static_cast<int*>(value));
    return 0;
  });
}
CUDANALYST_API cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  return of_pool(handle, [&](Pool& pool) {
    auto at = pool.attributes.find(attribute);
    // The reuse policies are on until they are set; sizes are of what the pool keeps, which is nothing.
    const uint64_t now = at != pool.attributes.end() ? at->second : is_wide(attribute) ? 0 : 1;
    if (is_wide(attribute)) *static_cast<uint64_t*>(value) = now;
    else *static_cast<int*>(value) = static_cast<int>(now);
    return 0;
  });
}
CUDANALYST_API cudaError_t cudaMemPoolSetAccess(cudaMemPool_t handle, const cudaMemAccessDesc*, size_t) {
  return of_pool(handle, [](Pool&) { return 0; });
}
CUDANALYST_API cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t handle, cudaStream_t stream) {
  return of_pool(handle, [&](Pool&) -> int {
    if (int error = contract::allocation("cudaMallocFromPoolAsync")) return error;
    return streams::find(stream) ? host_memory::allocate_device(pointer, bytes) : static_cast<int>(cudaErrorInvalidResourceHandle);
  });
}
CUDANALYST_PER_THREAD(cudaMallocFromPoolAsync, _ptsz);
