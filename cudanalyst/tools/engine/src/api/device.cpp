#include "device.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "../check/order.hpp"
#include "api.hpp"
#include "backend.hpp"
#include "contexts.hpp"
#include "contract.hpp"
#include "errors.hpp"
#include "streams.hpp"

namespace cudanalyst::device {
namespace {

constexpr std::pair<int, int> h200[] = {
#include "device_h200.inc"
};
constexpr int last_attribute = 147;

struct Table {
  std::string name = "cudanalyst CPU engine (attributes of an NVIDIA H200)";
  std::map<int, int> attributes{std::begin(h200), std::end(h200)};
  bool replaced = false;

  Table() {
    const std::string& path = config().device_path;
    if (path.empty()) return;
    std::ifstream file(path);
    std::string line;
    int number = 0;
    if (!file) complain(path + " cannot be read");
    attributes.clear();
    while (std::getline(file, line)) {
      number++;
      std::istringstream words(line);
      std::string key, rest;
      if (!(words >> key) || key[0] == '#') continue;
      if (key == "name") {
        std::getline(words >> std::ws, rest);
        name = "cudanalyst CPU engine (attributes of an " + rest + ")";
        continue;
      }
      char* end = nullptr;
      const long id = std::strtol(key.c_str(), &end, 10);
      int value = 0;
      if (*end || id < 1 || !(words >> value))
        complain(path + ":" + std::to_string(number) + ": expected `attribute value` with the number of a cudaDeviceAttr");
      attributes[static_cast<int>(id)] = value;
    }
    for (int needed : {cudaDevAttrMaxThreadsPerBlock, cudaDevAttrWarpSize, cudaDevAttrMultiProcessorCount, cudaDevAttrComputeCapabilityMajor})
      if (!attributes.contains(needed)) complain(path + ": lacks attribute " + std::to_string(needed));
  }

  [[noreturn]] static void complain(const std::string& text) {
    std::fprintf(stderr, "cudanalyst engine: CUDANALYST_DEVICE: %s\n", text.c_str());
    std::_Exit(125);
  }
};

Table& table() {
  static auto& instance = *new Table;
  return instance;
}

}  // namespace

int attribute(int id) {
  auto at = table().attributes.find(id);
  return at == table().attributes.end() ? 0 : at->second;
}
bool has_attribute(int id) { return table().replaced ? table().attributes.contains(id) : id >= 1 && id <= last_attribute; }
void replace(const std::string& name, std::map<int, int> attributes) {
  table().name = name;
  table().attributes = std::move(attributes);
  table().replaced = true;
}
int architecture() { return attribute(cudaDevAttrComputeCapabilityMajor) * 10 + attribute(cudaDevAttrComputeCapabilityMinor); }
const std::string& name() { return table().name; }

namespace {
// Of an H200, by cudaLimit, and what it makes of a value that is asked for.
size_t limits[] = {1024, 8650752, 8388608, 0, 2048, 64, 11796480, 232448, 0};
constexpr int no_such_limit = 3;  // cudaLimitDevRuntimeSyncDepth is gone
int cache = cudaFuncCachePreferNone;

int adjust(int limit, size_t& value) {
  constexpr size_t stack_unit = 16, most_stack = size_t{512} << 10, least_fifo = size_t{512} << 10, least_heap = size_t{4} << 20;
  constexpr size_t least_launches = 32, most_launches = 599186, most_granularity = 128, persisting_unit = 3932160;
  switch (limit) {
    case cudaLimitStackSize: value = (value + stack_unit - 1) / stack_unit * stack_unit; return value > most_stack ? invalid_value : success;
    case cudaLimitPrintfFifoSize: value = std::max(value, least_fifo); return device_limits().printed ? invalid_value : success;
    case cudaLimitMallocHeapSize: value = std::max(value, least_heap); return device_limits().heap_touched ? invalid_value : success;
    case cudaLimitDevRuntimePendingLaunchCount: value = std::clamp(value, least_launches, most_launches); return success;
    case cudaLimitMaxL2FetchGranularity: return value > most_granularity ? invalid_value : success;
    case cudaLimitPersistingL2CacheSize:
      value = std::min<size_t>((value + persisting_unit - 1) / persisting_unit * persisting_unit,
                               static_cast<size_t>(attribute(cudaDevAttrMaxPersistingL2CacheSize)));
      return success;
    default: return cudaErrorNotPermitted;
  }
}
}  // namespace

int get_limit(size_t* value, int limit) {
  if (!value || limit < 0) return invalid_value;
  if (limit == no_such_limit || static_cast<size_t>(limit) >= std::size(limits)) return cudaErrorUnsupportedLimit;
  *value = limits[limit];
  return success;
}

int set_limit(int limit, size_t value) {
  if (limit < 0) return invalid_value;
  if (limit == no_such_limit || static_cast<size_t>(limit) >= std::size(limits)) return cudaErrorUnsupportedLimit;
  if (int error = contract::lasting("cudaDeviceSetLimit")) return error;
  if (int error = adjust(limit, value)) return error;
  limits[limit] = value;
  if (limit == cudaLimitStackSize) device_limits().stack_bytes = value;
  if (limit == cudaLimitMallocHeapSize) device_limits().heap_bytes = value;
  return success;
}

int cache_preference() { return cache; }
int prefer_cache(int wanted) {
  if (wanted < cudaFuncCachePreferNone || wanted > cudaFuncCachePreferEqual) return invalid_value;
  cache = wanted;
  return success;
}

}  // namespace cudanalyst::device

using namespace cudanalyst;
using device::attribute;

// A broken context does not stop these: they ask about the device, not about its work.
namespace {
template <typename Body>
cudaError_t query(Body&& body) {
  Guard guard(api_mutex());
  return finish(body());
}

unsigned device_flags = cudaDeviceScheduleAuto;
}  // namespace

CUDANALYST_API cudaError_t cudaGetDeviceCount(int* count) {
  return query([&]() -> int { return count ? (*count = 1, success) : invalid_value; });
}
CUDANALYST_API cudaError_t cudaGetDevice(int* device) {
  return query([&]() -> int { return device ? (*device = 0, success) : invalid_value; });
}
CUDANALYST_API cudaError_t cudaSetDevice(int device) {
  return query([&]() -> int {
    if (device) return cudaErrorInvalidDevice;
    contexts::use_primary();
    return success;
  });
}
CUDANALYST_API cudaError_t cudaInitDevice(int device, unsigned device_flags_wanted, unsigned flags) {
  if (flags & cudaInitDeviceFlagsAreValid)
    if (const cudaError_t error = cudaSetDeviceFlags(device_flags_wanted)) return error;
  return cudaSetDevice(device);
}
CUDANALYST_API cudaError_t cudaSetValidDevices(int* list, int count) {
  return query([&]() -> int {
    for (int k = 0; list && k < count; k++)
      if (list[k]) return cudaErrorInvalidDevice;
    return success;
  });
}
CUDANALYST_API cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* wanted) {
  return query([&]() -> int { return device && wanted ? (*device = 0, success) : invalid_value; });
}
CUDANALYST_API cudaError_t cudaSetDeviceFlags(unsigned flags) {
  return query([&]() -> int {
    const unsigned schedule = flags & cudaDeviceScheduleMask;
    if ((flags & ~cudaDeviceMask) || (schedule & (schedule - 1))) return invalid_value;
    device_flags = flags & (cudaDeviceScheduleMask | cudaDeviceMapHost | cudaDeviceLmemResizeToMax | cudaDeviceSyncMemops);
    return success;
  });
}
CUDANALYST_API cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  // A context that is set up maps host memory in any case.
  return query([&]() -> int { return flags ? (*flags = device_flags | cudaDeviceMapHost, success) : invalid_value; });
}
CUDANALYST_API cudaError_t cudaRuntimeGetVersion(int* version) {
  return query([&]() -> int { return version ? (*version = CUDART_VERSION, success) : invalid_value; });
}
CUDANALYST_API cudaError_t cudaDriverGetVersion(int* version) {
  return query([&]() -> int { return version ? (*version = CUDART_VERSION, success) : invalid_value; });
}

CUDANALYST_API cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr id, int device) {
  return query([&]() -> int {
    if (!value || !device::has_attribute(id)) return invalid_value;
    if (device) return cudaErrorInvalidDevice;
    *value = attribute(id);
    backend().asked("attribute " + std::to_string(id), *value);
    return success;
  });
}

CUDANALYST_API cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return query([&]() -> int {
    if (!can) return invalid_value;
    if (device || peer) return cudaErrorInvalidDevice;
    *can = 0;
    return success;
  });
}
CUDANALYST_API cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
  return finish(peer ? cudaErrorInvalidDevice : cudaErrorPeerAccessUnsupported);
}
CUDANALYST_API cudaError_t cudaDeviceDisablePeerAccess(int peer) { return finish(peer ? cudaErrorInvalidDevice : cudaErrorPeerAccessNotEnabled); }
CUDANALYST_API cudaError_t cudaDeviceGetP2PAttribute(int*, cudaDeviceP2PAttr, int, int) { return finish(cudaErrorInvalidDevice); }
CUDANALYST_API cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return runtime_call([&]() -> int {
    if (least) *least = 0;
    if (greatest) *greatest = streams::least_priority();
    return success;
  });
}

CUDANALYST_API cudaError_t cudaDeviceSynchronize() {
  return runtime_call([]() -> int {
    if (int error = contract::host_wait("cudaDeviceSynchronize")) return error;
    if (order::watching()) order::host_waited_for_all();
    return backend().synchronize();
  });
}

CUDANALYST_API cudaError_t cudaDeviceReset() {
  return query([]() -> int {
    if (int error = contract::host_work("cudaDeviceReset")) return error;
    // As seen on an H200: a context that a fault broke is gone for good, and the device says that it is not available.
    errors::lose_device();
    contexts::deactivate_primary();
    return success;
  });
}

CUDANALYST_API cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  return runtime_call([&] { return device::get_limit(value, limit); });
}
CUDANALYST_API cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  return runtime_call([&] { return device::set_limit(limit, value); });
}
CUDANALYST_API cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* value) {
  return runtime_call([&]() -> int { return value ? (*value = static_cast<cudaFuncCache>(device::cache_preference()), success) : invalid_value; });
}
CUDANALYST_API cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache wanted) {
  return runtime_call([&] { return device::prefer_cache(wanted); });
}
CUDANALYST_API cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* value) {
  return runtime_call([&] {
    *value = cudaSharedMemBankSizeFourByte;
    return 0;
  });
}
CUDANALYST_API cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) {
  return runtime_call([] { return 0; });
}
CUDANALYST_API cudaError_t cudaCtxResetPersistingL2Cache() {
  return runtime_call([] { return contract::lasting("cudaCtxResetPersistingL2Cache"); });
}
CUDANALYST_API cudaError_t cudaProfilerStart() {
  return runtime_call([] { return 0; });
}
CUDANALYST_API cudaError_t cudaProfilerStop() {
  return runtime_call([] { return 0; });
}

CUDANALYST_API cudaError_t cudaDeviceGetPCIBusId(char* text, int bytes, int device) {
  return query([&]() -> int {
    if (!text || bytes < 13) return invalid_value;
    if (device) return cudaErrorInvalidDevice;
    std::snprintf(text, static_cast<size_t>(bytes), "%04x:%02x:%02x.0", attribute(cudaDevAttrPciDomainId), attribute(cudaDevAttrPciBusId),
                  attribute(cudaDevAttrPciDeviceId));
    return success;
  });
}
CUDANALYST_API cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
  return query([&]() -> int {
    unsigned domain = 0, bus = 0, slot = 0;
    if (!device || !text || std::sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3) return invalid_value;
    const bool ours = static_cast<int>(domain) == attribute(cudaDevAttrPciDomainId) && static_cast<int>(bus) == attribute(cudaDevAttrPciBusId) &&
                      static_cast<int>(slot) == attribute(cudaDevAttrPciDeviceId);
    return ours ? (*device = 0, success) : static_cast<int>(cudaErrorInvalidDevice);
  });
}
