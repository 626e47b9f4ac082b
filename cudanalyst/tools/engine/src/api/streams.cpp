#include "streams.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <thread>
#include <utility>

#include "../check/order.hpp"
#include "backend.hpp"
#include "host_memory.hpp"

namespace cudanalyst::streams {
namespace {

constexpr int most_urgent = -5;

struct Registry {
  Stream legacy{.id = 0}, per_thread{.id = 1};
  std::set<Stream*> streams;
  std::set<Event*> events;
  uint64_t next_id = 2;
};

Registry& registry() {
  static auto& instance = *new Registry;
  return instance;
}

}  // namespace

int least_priority() { return most_urgent; }
int clamp_priority(int wanted) { return std::clamp(wanted, most_urgent, 0); }

namespace {
thread_local bool inside_host_function = false;
}
bool in_host_function() { return inside_host_function; }
void run_host_function(const std::function<void()>& body) {
  // In a thread of its own, as the driver has one for them.
  std::thread([&] {
    inside_host_function = true;
    body();
  }).join();
}

Stream* find(cudaStream_t handle) {
  if (!handle || handle == cudaStreamLegacy) return &registry().legacy;
  if (handle == cudaStreamPerThread) return &registry().per_thread;
  auto at = registry().streams.find(reinterpret_cast<Stream*>(handle));
  return at == registry().streams.end() ? nullptr : *at;
}

Event* find(cudaEvent_t handle) {
  auto at = registry().events.find(reinterpret_cast<Event*>(handle));
  return at == registry().events.end() ? nullptr : *at;
}

int create(Stream*& stream, unsigned flags, int priority) {
  if (flags > cudaStreamNonBlocking) return invalid_value;
  stream = new Stream{.id = registry().next_id++, .flags = flags, .priority = clamp_priority(priority)};
  registry().streams.insert(stream);
  return success;
}

int destroy(cudaStream_t handle) {
  Stream* stream = find(handle);
  if (!stream || stream->is_default()) return cudaErrorInvalidResourceHandle;
  registry().streams.erase(stream);
  delete stream;
  return success;
}

int create(Event*& event, unsigned flags) {
  if (flags & ~(cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess)) return invalid_value;
  if ((flags & cudaEventInterprocess) && !(flags & cudaEventDisableTiming)) return invalid_value;
  event = new Event{.flags = flags};
  registry().events.insert(event);
  return success;
}

int destroy(cudaEvent_t handle) {
  Event* event = find(handle);
  if (!event) return cudaErrorInvalidResourceHandle;
  registry().events.erase(event);
  delete event;
  return success;
}

int record(const char* function, cudaEvent_t event_handle, cudaStream_t stream_handle) {
  Event* event = find(event_handle);
  Stream* stream = find(stream_handle);
  if (!event || !stream) return cudaErrorInvalidResourceHandle;
  if (int error = contract::record(function, *event, *stream)) return error;
  event->recorded = true;
  return backend().record(*event, *stream, event->when);
}

int wait(const char* function, cudaStream_t stream_handle, cudaEvent_t event_handle) {
  Event* event = find(event_handle);
  Stream* stream = find(stream_handle);
  if (!event || !stream) return cudaErrorInvalidResourceHandle;
  if (int error = contract::wait(function, *stream, *event)) return error;
  return backend().wait(*stream, *event);
}

int elapsed(float* milliseconds, cudaEvent_t start_handle, cudaEvent_t end_handle) {
  Event *start = find(start_handle), *end = find(end_handle);
  if (!milliseconds) return invalid_value;
  if (backend().recording()) {
    backend().refused(Refusal::unrecordable, "cudaEventElapsedTime", " asks for times, and nothing has run yet");
    return not_supported;
  }
  if (!start || !end || !start->recorded || !end->recorded) return cudaErrorInvalidResourceHandle;
  if ((start->flags | end->flags) & cudaEventDisableTiming) return cudaErrorInvalidResourceHandle;
  // Wall-clock time of this engine: monotonic, but never the time of a GPU.
  *milliseconds = static_cast<float>((end->when - start->when) * 1e3);
  return success;
}

}  // namespace cudanalyst::streams

using namespace cudanalyst;

CUDANALYST_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t* handle, unsigned flags, int priority) {
  return runtime_call([&]() -> int {
    if (!handle) return invalid_value;
    Stream* stream = nullptr;
    int error = streams::create(stream, flags, priority);
    if (!error) *handle = reinterpret_cast<cudaStream_t>(stream);
    return error;
  });
}
CUDANALYST_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t* handle, unsigned flags) { return cudaStreamCreateWithPriority(handle, flags, 0); }
CUDANALYST_API cudaError_t cudaStreamCreate(cudaStream_t* handle) { return cudaStreamCreateWithPriority(handle, cudaStreamDefault, 0); }

CUDANALYST_API cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  return runtime_call([&] { return streams::destroy(handle); });
}

namespace {
template <typename Body>
cudaError_t of_stream(cudaStream_t handle, Body&& body, const char* caller = __builtin_FUNCTION()) {
  return runtime_call(
      [&]() -> int {
        Stream* stream = streams::find(handle);
        return stream ? body(*stream) : static_cast<int>(cudaErrorInvalidResourceHandle);
      },
      caller);
}
}  // namespace

CUDANALYST_API cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  return of_stream(handle, [&](Stream& stream) -> int { return priority ? (*priority = stream.priority, success) : invalid_value; });
}
CUDANALYST_PER_THREAD(cudaStreamGetPriority, _ptsz);
CUDANALYST_API cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned* flags) {
  return of_stream(handle, [&](Stream& stream) -> int { return flags ? (*flags = stream.flags, success) : invalid_value; });
}
CUDANALYST_PER_THREAD(cudaStreamGetFlags, _ptsz);
CUDANALYST_API cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long* id) {
  return of_stream(handle, [&](Stream& stream) -> int { return id ? (*id = stream.id, success) : invalid_value; });
}
CUDANALYST_PER_THREAD(cudaStreamGetId, _ptsz);
CUDANALYST_API cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  return of_stream(handle, [&](Stream&) -> int { return device ? (*device = 0, success) : invalid_value; });
}
CUDANALYST_PER_THREAD(cudaStreamGetDevice, _ptsz);

namespace {
// External nodes are of graphs, and nothing is captured.
int check_flags(unsigned flags) { return flags > cudaEventWaitExternal ? invalid_value : flags ? static_cast<int>(cudaErrorIllegalState) : 0; }
}  // namespace
CUDANALYST_API cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t*) {
  return of_stream(handle, [](Stream&) -> int { return cudaErrorIllegalState; });
}
CUDANALYST_PER_THREAD(cudaStreamEndCapture, _ptsz);
CUDANALYST_API cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return of_stream(handle, [](Stream& stream) -> int {
    if (int error = contract::host_wait("cudaStreamSynchronize")) return error;
    if (order::watching()) order::host_waited_for_stream(stream.id);
    return backend().synchronize();
  });
}
CUDANALYST_PER_THREAD(cudaStreamSynchronize, _ptsz);
CUDANALYST_API cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return of_stream(handle, [](Stream& stream) {
    if (order::watching()) order::host_waited_for_stream(stream.id);  // the answer is that all is done
    return contract::host_wait("cudaStreamQuery");
  });
}
CUDANALYST_PER_THREAD(cudaStreamQuery, _ptsz);
CUDANALYST_API cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return runtime_call([&]() -> int {
    if (int error = check_flags(flags)) return error;
    return streams::wait("cudaStreamWaitEvent", stream, event);
  });
}
CUDANALYST_PER_THREAD(cudaStreamWaitEvent, _ptsz);
CUDANALYST_API cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return of_stream(handle, [&](Stream&) -> int { return status ? (*status = cudaStreamCaptureStatusNone, success) : invalid_value; });
}
CUDANALYST_PER_THREAD(cudaStreamIsCapturing, _ptsz);
CUDANALYST_API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,
                                                    const cudaGraphNode_t**, const cudaGraphEdgeData**, size_t* dependencies) {
  return of_stream(handle, [&](Stream&) -> int {
    if (!status) return invalid_value;
    *status = cudaStreamCaptureStatusNone;
    if (id) *id = 0;
    if (graph) *graph = nullptr;
    if (dependencies) *dependencies = 0;
    return success;
  });
}
CUDANALYST_PER_THREAD(cudaStreamGetCaptureInfo, _ptsz);
CUDANALYST_API cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  // Nothing is ever captured, so the mode is only kept.
  static thread_local cudaStreamCaptureMode now = cudaStreamCaptureModeGlobal;
  return runtime_call([&]() -> int {
    if (!mode || *mode > cudaStreamCaptureModeRelaxed) return invalid_value;
    *mode = std::exchange(now, *mode);
    return success;
  });
}
CUDANALYST_API cudaError_t cudaStreamAttachMemAsync(cudaStream_t handle, void* pointer, size_t bytes, unsigned flags) {
  return runtime_call([&] { return host_memory::attach(handle, pointer, bytes, flags); });
}
CUDANALYST_PER_THREAD(cudaStreamAttachMemAsync, _ptsz);

// Host functions run outside the lock: they may start threads of the program that call the API.
CUDANALYST_API cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* data) {
  cudaError_t error = of_stream(handle, [&](Stream&) -> int {
    if (int refused = contract::host_work("cudaLaunchHostFunc")) return refused;
    return function ? success : invalid_value;
  });
  if (!error) streams::run_host_function([&] { function(data); });
  return error;
}
CUDANALYST_PER_THREAD(cudaLaunchHostFunc, _ptsz);
CUDANALYST_API cudaError_t cudaStreamAddCallback(cudaStream_t handle, cudaStreamCallback_t callback, void* data, unsigned flags) {
  cudaError_t error = of_stream(handle, [&](Stream&) -> int {
    if (int refused = contract::host_work("cudaStreamAddCallback")) return refused;
    return callback && !flags ? success : invalid_value;
  });
  if (!error) streams::run_host_function([&] { callback(handle, cudaSuccess, data); });
  return error;
}
CUDANALYST_PER_THREAD(cudaStreamAddCallback, _ptsz);

CUDANALYST_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t* handle, unsigned flags) {
  return runtime_call([&]() -> int {
    if (!handle) return invalid_value;
    Event* event = nullptr;
    int error = streams::create(event, flags);
    if (!error) *handle = reinterpret_cast<cudaEvent_t>(event);
    return error;
  });
}
CUDANALYST_API cudaError_t cudaEventCreate(cudaEvent_t* handle) { return cudaEventCreateWithFlags(handle, cudaEventDefault); }
CUDANALYST_API cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  return runtime_call([&] { return streams::destroy(handle); });
}
CUDANALYST_API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return runtime_call([&] { return streams::record("cudaEventRecord", event, stream); });
}
CUDANALYST_PER_THREAD(cudaEventRecord, _ptsz);
CUDANALYST_API cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  return runtime_call([&]() -> int {
    if (int error = check_flags(flags)) return error;
    return streams::record("cudaEventRecordWithFlags", event, stream);
  });
}
CUDANALYST_PER_THREAD(cudaEventRecordWithFlags, _ptsz);
CUDANALYST_API cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  return runtime_call([&]() -> int {
    if (!streams::find(handle)) return cudaErrorInvalidResourceHandle;
    if (int error = contract::host_wait("cudaEventSynchronize")) return error;
    if (order::watching()) order::host_waited_for_event(streams::find(handle));
    return backend().synchronize();
  });
}
CUDANALYST_API cudaError_t cudaEventQuery(cudaEvent_t handle) {
  return runtime_call([&]() -> int {
    if (!streams::find(handle)) return cudaErrorInvalidResourceHandle;
    if (order::watching()) order::host_waited_for_event(streams::find(handle));
    return contract::host_wait("cudaEventQuery");
  });
}
CUDANALYST_API cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return runtime_call([&] { return streams::elapsed(milliseconds, start, end); });
}
