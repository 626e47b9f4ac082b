// Attributes of streams: kept and told, as there is one order of work whatever they say.
#include <cstring>

#include "device.hpp"
#include "streams.hpp"

using namespace cudanalyst;

namespace {

int read(const Stream& stream, int id, cudaStreamAttrValue& value) {
  std::memset(&value, 0, sizeof value);
  switch (id) {
    case cudaLaunchAttributeAccessPolicyWindow: value.accessPolicyWindow = stream.window; return success;
    case cudaLaunchAttributeSynchronizationPolicy: value.syncPolicy = static_cast<cudaSynchronizationPolicy>(stream.sync_policy); return success;
    case cudaLaunchAttributePriority: value.priority = stream.priority; return success;
    case cudaLaunchAttributeMemSyncDomainMap: value.memSyncDomainMap = {stream.domains[0], stream.domains[1]}; return success;
    case cudaLaunchAttributeMemSyncDomain: value.memSyncDomain = static_cast<cudaLaunchMemSyncDomain>(stream.domain); return success;
    default: return invalid_value;
  }
}

int set_window(Stream& stream, const cudaAccessPolicyWindow& window) {
  if (int refused = contract::lasting("an access policy window")) return refused;
  if (window.num_bytes > static_cast<size_t>(device::attribute(cudaDevAttrMaxAccessPolicyWindowSize))) return invalid_value;
  if (window.hitRatio < 0 || window.hitRatio > 1 || window.missProp == cudaAccessPropertyPersisting) return invalid_value;
  stream.window = window;
  return success;
}

int write(Stream& stream, int id, const cudaStreamAttrValue& value) {
  switch (id) {
    case cudaLaunchAttributeAccessPolicyWindow: return set_window(stream, value.accessPolicyWindow);
    case cudaLaunchAttributeSynchronizationPolicy:
      if (value.syncPolicy < cudaSyncPolicyAuto || value.syncPolicy > cudaSyncPolicyBlockingSync) return invalid_value;
      stream.sync_policy = value.syncPolicy;
      return success;
    case cudaLaunchAttributePriority: stream.priority = streams::clamp_priority(value.priority); return success;
    case cudaLaunchAttributeMemSyncDomainMap:
      stream.domains[0] = value.memSyncDomainMap.default_;
      stream.domains[1] = value.memSyncDomainMap.remote;
      return success;
    case cudaLaunchAttributeMemSyncDomain: stream.domain = value.memSyncDomain; return success;
    default: return invalid_value;
  }
}

int get(cudaStream_t handle, int id, cudaStreamAttrValue* value) {
  Stream* stream = streams::find(handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  return value ? read(*stream, id, *value) : invalid_value;
}
int set(cudaStream_t handle, int id, const cudaStreamAttrValue* value) {
  Stream* stream = streams::find(handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  return value ? write(*stream, id, *value) : invalid_value;
}
int copy(cudaStream_t to_handle, cudaStream_t from_handle) {
  Stream *to = streams::find(to_handle), *from = streams::find(from_handle);
  if (!to || !from) return cudaErrorInvalidResourceHandle;
  if (from->window.num_bytes)
    if (int refused = contract::lasting("an access policy window")) return refused;
  to->window = from->window;
  to->sync_policy = from->sync_policy;
  to->priority = from->priority;
  to->domain = from->domain;
  std::memcpy(to->domains, from->domains, sizeof to->domains);
  return success;
}

}  // namespace

CUDANALYST_API cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaStreamAttrID id, cudaStreamAttrValue* value) {
  return runtime_call([&] { return get(stream, id, value); });
}
CUDANALYST_PER_THREAD(cudaStreamGetAttribute, _ptsz);
CUDANALYST_API cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID id, const cudaStreamAttrValue* value) {
  return runtime_call([&] { return set(stream, id, value); });
}
CUDANALYST_PER_THREAD(cudaStreamSetAttribute, _ptsz);
CUDANALYST_API cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) {
  return runtime_call([&] { return copy(to, from); });
}
CUDANALYST_PER_THREAD(cudaStreamCopyAttributes, _ptsz);

// The driver's attribute types are the runtime's: same identifiers, same layout.
static_assert(sizeof(CUstreamAttrValue) == sizeof(cudaStreamAttrValue));
CUDANALYST_API CUresult cuStreamGetAttribute(CUstream stream, CUstreamAttrID id, CUstreamAttrValue* value) {
  return driver_call([&] { return get(stream, id, reinterpret_cast<cudaStreamAttrValue*>(value)); });
}
CUDANALYST_API CUresult cuStreamSetAttribute(CUstream stream, CUstreamAttrID id, const CUstreamAttrValue* value) {
  return driver_call([&] { return set(stream, id, reinterpret_cast<const cudaStreamAttrValue*>(value)); });
}
CUDANALYST_API CUresult cuStreamCopyAttributes(CUstream to, CUstream from) {
  return driver_call([&] { return copy(to, from); });
}
