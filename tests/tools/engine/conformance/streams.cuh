// Streams, events and host functions.
#pragma once
#include "answers.cuh"

CASE(streams) {
  cudaStream_t s = nullptr, t = nullptr;
  int priority = 99, device = 99;
  unsigned flags = 99;
  unsigned long long id = 99, other = 99;
  for (unsigned word : {0u, 1u, 2u, 3u}) CALL(cudaStreamCreateWithFlags(&s, word));
  for (int wanted : {-99, -6, -5, -1, 0, 1, 99}) {
    CALL(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, wanted));
    CALL(cudaStreamGetPriority(s, &priority));
    SHOW(priority);
  }
  CALL(cudaStreamGetFlags(s, &flags));
  SHOW(flags);
  CALL(cudaStreamGetDevice(s, &device));
  SHOW(device);
  CALL(cudaStreamCreate(&t));
  CALL(cudaStreamGetId(s, &id));
  CALL(cudaStreamGetId(t, &other));
  SHOW(other > id);
  CALL(cudaStreamGetId(s, nullptr));
  CALL(cudaStreamGetDevice(s, nullptr));
  CALL(cudaStreamGetPriority(s, nullptr));
  CALL(cudaStreamGetFlags(s, nullptr));
  CALL(cudaStreamCreateWithFlags(nullptr, 0));
  CALL(cudaStreamDestroy(s));
  CALL(cudaStreamSynchronize(t));
  CALL(cudaStreamQuery(t));
  CALL(cudaStreamDestroy(t));
}

CASE(default_streams) {
  unsigned flags = 99;
  int priority = 99, device = 99;
  unsigned long long id = 99;
  for (cudaStream_t s : {static_cast<cudaStream_t>(nullptr), cudaStreamLegacy, cudaStreamPerThread}) {
    CALL(cudaStreamGetFlags(s, &flags));
    SHOW(flags);
    CALL(cudaStreamGetPriority(s, &priority));
    SHOW(priority);
    CALL(cudaStreamGetDevice(s, &device));
    CALL(cudaStreamGetId(s, &id));
    SHOW(id < 100);
    CALL(cudaStreamSynchronize(s));
    CALL(cudaStreamQuery(s));
    LAUNCH(plain<<<1, 1, 0, s>>>(nullptr));
    CALL(cudaStreamDestroy(s));
    CALL(cudaMemsetAsync(device_array<int>(), 0, 4, s));
  }
}

CASE(destroyed_stream) {
  cudaStream_t s;
  cudaStreamCreate(&s);
  CALL(cudaStreamDestroy(s));
  CALL(cudaStreamDestroy(s));
}
CASE(destroyed_stream_synchronized) {
  cudaStream_t s;
  cudaStreamCreate(&s);
  cudaStreamDestroy(s);
  CALL(cudaStreamSynchronize(s));
}
CASE(destroyed_stream_launched) {
  cudaStream_t s;
  cudaStreamCreate(&s);
  cudaStreamDestroy(s);
  LAUNCH(plain<<<1, 1, 0, s>>>(nullptr));
}
CASE(destroyed_event) {
  cudaEvent_t e;
  cudaEventCreate(&e);
  CALL(cudaEventDestroy(e));
  CALL(cudaEventDestroy(e));
}
CASE(destroyed_event_recorded) {
  cudaEvent_t e;
  cudaEventCreate(&e);
  cudaEventDestroy(e);
  CALL(cudaEventRecord(e));
}
CASE(destroyed_event_asked) {
  cudaEvent_t e;
  cudaEventCreate(&e);
  cudaEventDestroy(e);
  CALL(cudaEventQuery(e));
}

CASE(stream_attributes) {
  cudaStream_t s, t;
  cudaStreamCreate(&s);
  cudaStreamCreate(&t);
  cudaStreamAttrValue v = {};
  for (int id = 0; id < 16; id++) {
    ask("cudaStreamGetAttribute");
    std::memset(&v, 0, sizeof v);
    const int code = cudaStreamGetAttribute(s, static_cast<cudaStreamAttrID>(id), &v);
    std::printf("%d: %d, %d\n", id, code, *reinterpret_cast<int*>(&v));
    cudaGetLastError();
  }
  std::memset(&v, 0, sizeof v);
  v.accessPolicyWindow.base_ptr = device_array<char>(65536);
  v.accessPolicyWindow.num_bytes = 65536;
  v.accessPolicyWindow.hitRatio = 0.5f;
  v.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  v.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
  CALL(cudaStreamSetAttribute(s, cudaStreamAttributeAccessPolicyWindow, &v));
  cudaStreamAttrValue back = {};
  CALL(cudaStreamGetAttribute(s, cudaStreamAttributeAccessPolicyWindow, &back));
  SHOW(back.accessPolicyWindow.num_bytes);
  SHOW(back.accessPolicyWindow.base_ptr == v.accessPolicyWindow.base_ptr);
  v.accessPolicyWindow.hitRatio = 2.0f;
  CALL(cudaStreamSetAttribute(s, cudaStreamAttributeAccessPolicyWindow, &v));
  v.accessPolicyWindow.hitRatio = 1.0f;
  v.accessPolicyWindow.missProp = cudaAccessPropertyPersisting;
  CALL(cudaStreamSetAttribute(s, cudaStreamAttributeAccessPolicyWindow, &v));
  v.accessPolicyWindow.missProp = cudaAccessPropertyNormal;
  v.accessPolicyWindow.num_bytes = static_cast<size_t>(1) << 40;
  CALL(cudaStreamSetAttribute(s, cudaStreamAttributeAccessPolicyWindow, &v));
  CALL(cudaStreamCopyAttributes(t, s));
  CALL(cudaStreamGetAttribute(t, cudaStreamAttributeAccessPolicyWindow, &back));
  SHOW(back.accessPolicyWindow.num_bytes);
  std::memset(&v, 0, sizeof v);
  for (int policy = 0; policy < 6; policy++) {
    v.syncPolicy = static_cast<cudaSynchronizationPolicy>(policy);
    CALL(cudaStreamSetAttribute(s, cudaStreamAttributeSynchronizationPolicy, &v));
  }
  CALL(cudaStreamGetAttribute(s, cudaStreamAttributeSynchronizationPolicy, &back));
  SHOW(back.syncPolicy);
  std::memset(&v, 0, sizeof v);
  v.priority = -3;
  CALL(cudaStreamSetAttribute(s, cudaStreamAttributePriority, &v));
  CALL(cudaStreamGetAttribute(s, cudaStreamAttributePriority, &back));
  SHOW(back.priority);
  int priority = 99;
  CALL(cudaStreamGetPriority(s, &priority));
  SHOW(priority);
  CALL(cudaStreamSetAttribute(s, static_cast<cudaStreamAttrID>(2), &v));
  CALL(cudaStreamSetAttribute(s, cudaStreamAttributePriority, nullptr));
  CALL(cudaStreamGetAttribute(s, cudaStreamAttributePriority, nullptr));
  CALL(cudaCtxResetPersistingL2Cache());
}

CASE(stream_capture_state) {
  cudaStream_t s;
  cudaStreamCreate(&s);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusInvalidated;
  CALL(cudaStreamIsCapturing(s, &status));
  SHOW(status);
  CALL(cudaStreamIsCapturing(nullptr, &status));
  CALL(cudaStreamIsCapturing(s, nullptr));
  unsigned long long id = 0;
  CALL(cudaStreamGetCaptureInfo(s, &status, &id));
  SHOW(status);
  cudaGraph_t graph = nullptr;
  CALL(cudaStreamEndCapture(s, &graph));
}

CASE(host_functions) {
  cudaStream_t s;
  cudaStreamCreate(&s);
  static char order[16] = "";
  const auto append = [](void* word) { std::strcat(order, static_cast<const char*>(word)); };
  static int seen = 99;
  CALL(cudaLaunchHostFunc(s, append, const_cast<char*>("a")));
  CALL(cudaStreamAddCallback(s, [](cudaStream_t, cudaError_t error, void* word) { seen = error, std::strcat(order, static_cast<const char*>(word)); },
                             const_cast<char*>("b"), 0));
  CALL(cudaLaunchHostFunc(s, append, const_cast<char*>("c")));
  CALL(cudaStreamSynchronize(s));
  TEXT(order);
  SHOW(seen);
  CALL(cudaLaunchHostFunc(s, nullptr, nullptr));
  CALL(cudaStreamAddCallback(s, nullptr, nullptr, 0));
  CALL(cudaStreamAddCallback(s, [](cudaStream_t, cudaError_t, void*) {}, nullptr, 1));
  CALL(cudaLaunchHostFunc(nullptr, append, const_cast<char*>("d")));
  CALL(cudaDeviceSynchronize());
  TEXT(order);
  // CUDA may not be called in a host function.
  static int inside = 99, after = 99;
  CALL(cudaLaunchHostFunc(s, [](void*) { inside = cudaDeviceSynchronize(), after = cudaPeekAtLastError(); }, nullptr));
  CALL(cudaStreamSynchronize(s));
  SHOW(inside);
  SHOW(after);
}

CASE(events) {
  cudaEvent_t a, b, untimed, blocking;
  float ms = 99;
  for (unsigned flags = 0; flags < 10; flags++) {
    cudaEvent_t e;
    std::printf("flags %u\n", flags);
    CALL(cudaEventCreateWithFlags(&e, flags));
  }
  cudaEventCreate(&a);
  cudaEventCreate(&b);
  cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&blocking, cudaEventBlockingSync);
  CALL(cudaEventQuery(a));
  CALL(cudaEventSynchronize(a));
  CALL(cudaStreamWaitEvent(nullptr, a, 0));
  CALL(cudaEventElapsedTime(&ms, a, b));
  CALL(cudaEventElapsedTime(&ms, a, a));
  CALL(cudaEventRecord(a));
  CALL(cudaEventElapsedTime(&ms, a, b));
  CALL(cudaEventElapsedTime(&ms, b, a));
  CALL(cudaEventSynchronize(a));
  CALL(cudaEventElapsedTime(&ms, a, a));
  SHOW(ms == 0);
  CALL(cudaEventRecord(b));
  CALL(cudaEventSynchronize(b));
  CALL(cudaEventQuery(b));
  CALL(cudaEventElapsedTime(&ms, a, b));
  SHOW(ms >= 0);
  CALL(cudaEventElapsedTime(&ms, b, a));
  SHOW(ms <= 0);
  CALL(cudaEventElapsedTime(nullptr, a, b));
  CALL(cudaEventElapsedTime(&ms, nullptr, b));
  CALL(cudaEventElapsedTime(&ms, a, nullptr));
  CALL(cudaEventRecord(untimed));
  CALL(cudaEventSynchronize(untimed));
  CALL(cudaEventElapsedTime(&ms, a, untimed));
  CALL(cudaEventElapsedTime(&ms, untimed, a));
  CALL(cudaEventRecord(blocking));
  CALL(cudaEventSynchronize(blocking));
  CALL(cudaEventElapsedTime(&ms, a, blocking));
  CALL(cudaEventRecord(nullptr));
  CALL(cudaEventSynchronize(nullptr));
  CALL(cudaEventQuery(nullptr));
  CALL(cudaEventDestroy(nullptr));
  CALL(cudaStreamWaitEvent(nullptr, nullptr, 0));
  CALL(cudaStreamWaitEvent(nullptr, b, 1));
  CALL(cudaStreamWaitEvent(nullptr, b, 7));
  CALL(cudaEventRecordWithFlags(b, nullptr, 0));
  CALL(cudaEventRecordWithFlags(b, nullptr, 1));
  CALL(cudaEventRecordWithFlags(b, nullptr, 7));
  CALL(cudaEventCreateWithFlags(nullptr, 0));
  cudaStream_t s;
  cudaStreamCreate(&s);
  CALL(cudaEventRecord(a, s));
  CALL(cudaStreamDestroy(s));
  CALL(cudaEventSynchronize(a));
  CALL(cudaEventRecord(a, cudaStreamPerThread));
  CALL(cudaEventSynchronize(a));
  CALL(cudaEventDestroy(a));
}
