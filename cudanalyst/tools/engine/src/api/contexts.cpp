#include "contexts.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <vector>

#include "../check/order.hpp"
#include "backend.hpp"
#include "contract.hpp"
#include "device.hpp"

namespace cudanalyst::contexts {
namespace {

struct Context {
  unsigned flags = 0;
  uint64_t id = 0;
};

struct Registry {
  Context primary{.id = 1};
  unsigned primary_flags = 0, retained = 0;
  bool active = false;
  std::map<Context*, Context> made;
  uint64_t next_id = 2;
};

Registry& registry() {
  static auto& instance = *new Registry;
  return instance;
}

std::atomic<bool> was_initialised = false;
thread_local std::vector<Context*> stack;

CUcontext handle_of(Context* context) { return reinterpret_cast<CUcontext>(context); }
Context* find(CUcontext handle) {
  auto* context = reinterpret_cast<Context*>(handle);
  return context == &registry().primary || registry().made.contains(context) ? context : nullptr;
}

// The thread's context, unless it was destroyed meanwhile.
Context* top() { return stack.empty() ? nullptr : find(handle_of(stack.back())); }

Context* primary() {
  Registry& known = registry();
  if (!known.active) known.primary.flags = known.primary_flags | CU_CTX_MAP_HOST;
  known.active = true;
  return &known.primary;
}

constexpr unsigned known_flags =
    CU_CTX_SCHED_MASK | CU_CTX_MAP_HOST | CU_CTX_LMEM_RESIZE_TO_MAX | CU_CTX_COREDUMP_ENABLE | CU_CTX_USER_COREDUMP_ENABLE | CU_CTX_SYNC_MEMOPS;
bool valid_flags(unsigned flags) {
  const unsigned schedule = flags & CU_CTX_SCHED_MASK;
  return !(flags & ~known_flags) && (schedule & (schedule - 1)) == 0;
}

}  // namespace

void initialise() { was_initialised = true; }
bool initialised() { return was_initialised; }
void use_primary() {
  was_initialised = true;
  if (!top()) stack.assign(1, primary());
  else if (stack.back() == &registry().primary) primary();
}
CUcontext current() { return handle_of(top()); }
bool known(CUcontext context) { return find(context); }
void deactivate_primary() { registry().active = false; }

}  // namespace cudanalyst::contexts

using namespace cudanalyst;
using namespace cudanalyst::contexts;

namespace {
// Needs the driver, but no context.
template <typename Body>
CUresult of_driver(Body&& body) {
  Guard guard(api_mutex());
  if (!initialised()) return CUDA_ERROR_NOT_INITIALIZED;
  return driver_error(body());
}
int no_device(CUdevice device) { return device ? static_cast<int>(CUDA_ERROR_INVALID_DEVICE) : 0; }
}  // namespace

CUDANALYST_API CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return of_driver([&]() -> int {
    if (int error = no_device(device)) return error;
    if (!context) return invalid_value;
    registry().retained++;
    *context = handle_of(primary());
    return success;
  });
}
CUDANALYST_API CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return of_driver([&]() -> int {
    if (int error = no_device(device)) return error;
    if (!registry().retained) return CUDA_ERROR_INVALID_CONTEXT;
    if (--registry().retained == 0) registry().active = false;
    return success;
  });
}
CUDANALYST_API CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
  return of_driver([&]() -> int {
    if (int error = no_device(device)) return error;
    if (!valid_flags(flags)) return invalid_value;
    registry().primary_flags = flags;
    if (registry().active) registry().primary.flags = flags | CU_CTX_MAP_HOST;
    return success;
  });
}
CUDANALYST_API CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  return of_driver([&]() -> int {
    if (int error = no_device(device)) return error;
    return cudaDeviceReset();
  });
}
CUDANALYST_API CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  return of_driver([&]() -> int {
    if (int error = no_device(device)) return error;
    if (!flags && !active) return invalid_value;
    if (flags) *flags = registry().primary_flags;
    if (active) *active = registry().active;
    return success;
  });
}

CUDANALYST_API CUresult cuCtxCreate(CUcontext* handle, CUctxCreateParams*, unsigned flags, CUdevice device) {
  return of_driver([&]() -> int {
    if (int error = no_device(device)) return error;
    if (!handle || !valid_flags(flags)) return invalid_value;
    auto* context = new Context{flags, registry().next_id++};  // never freed: its address must stay its own
    registry().made[context] = *context;
    stack.push_back(context);
    *handle = handle_of(context);
    return success;
  });
}
CUDANALYST_API CUresult cuCtxDestroy(CUcontext handle) {
  return of_driver([&]() -> int {
    if (!handle) return invalid_value;
    Context* context = find(handle);
    if (!context || context == &registry().primary) return CUDA_ERROR_INVALID_CONTEXT;
    registry().made.erase(context);
    if (!stack.empty() && stack.back() == context) stack.pop_back();
    return success;
  });
}
CUDANALYST_API CUresult cuCtxPushCurrent(CUcontext handle) {
  return of_driver([&]() -> int {
    if (!handle) return invalid_value;
    Context* context = find(handle);
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    stack.push_back(context);
    return success;
  });
}
CUDANALYST_API CUresult cuCtxPopCurrent(CUcontext* handle) {
  return of_driver([&]() -> int {
    if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
    if (handle) *handle = handle_of(stack.back());
    stack.pop_back();
    return success;
  });
}
CUDANALYST_API CUresult cuCtxSetCurrent(CUcontext handle) {
  return of_driver([&]() -> int {
    Context* context = find(handle);
    if (handle && !context) return CUDA_ERROR_INVALID_CONTEXT;
    if (!stack.empty()) stack.pop_back();
    if (context) stack.push_back(context);
    return success;
  });
}
CUDANALYST_API CUresult cuCtxGetCurrent(CUcontext* handle) {
  return of_driver([&]() -> int { return handle ? (*handle = current(), success) : invalid_value; });
}
CUDANALYST_API CUresult cuCtxGetDevice(CUdevice* device) {
  return of_driver([&]() -> int {
    if (!top()) return CUDA_ERROR_INVALID_CONTEXT;
    return device ? (*device = 0, success) : invalid_value;
  });
}
CUDANALYST_API CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext context) {
  return of_driver([&]() -> int {
    if (context && !find(context)) return CUDA_ERROR_INVALID_CONTEXT;
    return device ? (*device = 0, success) : invalid_value;
  });
}
CUDANALYST_API CUresult cuCtxGetFlags(unsigned* flags) {
  return driver_call([&]() -> int { return flags ? (*flags = top()->flags, success) : invalid_value; });
}
CUDANALYST_API CUresult cuCtxSetFlags(unsigned flags) {
  return driver_call([&]() -> int {
    if (!valid_flags(flags)) return invalid_value;
    top()->flags = flags;
    return success;
  });
}
CUDANALYST_API CUresult cuCtxGetId(CUcontext handle, unsigned long long* id) {
  return of_driver([&]() -> int {
    Context* context = handle ? find(handle) : top();
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    return id ? (*id = context->id, success) : invalid_value;
  });
}
CUDANALYST_API CUresult cuCtxGetApiVersion(CUcontext handle, unsigned* version) {
  return of_driver([&]() -> int {
    Context* context = handle ? find(handle) : top();
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    constexpr unsigned second_interface = 3020;  // of cuCtxCreate_v2, the one of all since CUDA 3.2
    return version ? (*version = second_interface, success) : invalid_value;
  });
}
CUDANALYST_API CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  return driver_call([&] { return device::get_limit(value, limit); });
}
CUDANALYST_API CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  return driver_call([&] { return device::set_limit(limit, value); });
}
CUDANALYST_API CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
  return driver_call([&]() -> int { return config ? (*config = static_cast<CUfunc_cache>(device::cache_preference()), success) : invalid_value; });
}
CUDANALYST_API CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
  return driver_call([&] { return device::prefer_cache(config); });
}
CUDANALYST_API CUresult cuCtxGetSharedMemConfig(CUsharedconfig* config) {
  return driver_call([&]() -> int { return config ? (*config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE, success) : invalid_value; });
}
CUDANALYST_API CUresult cuCtxSetSharedMemConfig(CUsharedconfig) {
  return driver_call([] { return 0; });
}
CUDANALYST_API CUresult cuCtxResetPersistingL2Cache() {
  return driver_call([] { return contract::lasting("cuCtxResetPersistingL2Cache"); });
}
CUDANALYST_API CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return driver_call([&]() -> int { return cudaDeviceGetStreamPriorityRange(least, greatest); });
}
CUDANALYST_API CUresult cuCtxSynchronize() {
  return driver_call([]() -> int {
    if (int error = contract::host_wait("cuCtxSynchronize")) return error;
    if (order::watching()) order::host_waited_for_all();
    return backend().synchronize();
  });
}
CUDANALYST_API CUresult cuCtxSynchronize_v2(CUcontext handle) {
  return driver_call([&]() -> int {
    if (handle && !find(handle)) return CUDA_ERROR_INVALID_CONTEXT;
    if (int error = contract::host_wait("cuCtxSynchronize")) return error;
    if (order::watching()) order::host_waited_for_all();
    return backend().synchronize();
  });
}
