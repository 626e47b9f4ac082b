// Allocation in all its forms, and where pointers point.
#pragma once
#include "answers.cuh"

static __device__ int device_words[16];
static __constant__ float constants[8];
static __managed__ int managed_word = 7;

CASE(allocate) {
  int *p = nullptr, h[64] = {};
  CALL(cudaMalloc(&p, 0));
  SHOW(p == nullptr);
  CALL(cudaMalloc(&p, 1));
  SHOW(reinterpret_cast<size_t>(p) % 256);
  CALL(cudaFree(p));
  CALL(cudaFree(p));
  p = reinterpret_cast<int*>(8);
  CALL(cudaMalloc(&p, static_cast<size_t>(1) << 60));
  SHOW(p == reinterpret_cast<int*>(8));
  CALL(cudaMalloc(&p, ~static_cast<size_t>(0)));
  CALL(cudaMalloc(static_cast<void**>(nullptr), 4));
  CALL(cudaMalloc(static_cast<void**>(nullptr), 0));
  CALL(cudaFree(nullptr));
  CALL(cudaFree(h));
  CALL(cudaFree(reinterpret_cast<void*>(16)));
  CALL(cudaMalloc(&p, 1024));
  CALL(cudaFree(p + 1));
  CALL(cudaFree(p + 256));
  std::thread([&] { CALL(cudaFree(p)); }).join();
  CALL(cudaFree(device_words));
  void* at = nullptr;
  CALL(cudaGetSymbolAddress(&at, device_words));
  CALL(cudaFree(at));
  CALL(cudaFree(&managed_word));
}

CASE(allocate_managed) {
  void* p = nullptr;
  CALL(cudaMallocManaged(&p, 64));
  CALL(cudaFree(p));
  CALL(cudaMallocManaged(&p, 64, 0));
  CALL(cudaMallocManaged(&p, 64, cudaMemAttachHost));
  CALL(cudaFree(p));
  CALL(cudaMallocManaged(&p, 64, cudaMemAttachSingle));
  CALL(cudaMallocManaged(&p, 64, 3));
  CALL(cudaMallocManaged(&p, 64, 8));
  p = &p;
  CALL(cudaMallocManaged(&p, 0));
  SHOW(p == nullptr);
  CALL(cudaMallocManaged(&p, static_cast<size_t>(1) << 60));
  CALL(cudaMallocManaged(static_cast<void**>(nullptr), 64));
  CALL(cudaMallocManaged(&p, 64));
  CALL(cudaFreeHost(p));
  CALL(cudaFree(static_cast<char*>(p) + 4));
  CALL(cudaFree(p));
  CALL(cudaFree(p));
}

CASE(allocate_pinned) {
  void* p = nullptr;
  for (unsigned flags = 0; flags < 17; flags++) {
    ask("cudaHostAlloc with flags");
    const int code = cudaHostAlloc(&p, 64, flags);
    unsigned seen = 99;
    const int asked = code ? -1 : cudaHostGetFlags(&seen, p);
    std::printf("%u: %d, cudaHostGetFlags %d: %u\n", flags, code, asked, seen);
    cudaGetLastError();
  }
  CALL(cudaHostAlloc(&p, 0, 0));
  SHOW(p == nullptr);
  CALL(cudaHostAlloc(nullptr, 64, 0));
  CALL(cudaHostAlloc(&p, static_cast<size_t>(1) << 60, 0));
  CALL(cudaMallocHost(&p, 100));
  CALL(cudaMallocHost(static_cast<void**>(nullptr), 100));
  CALL(cudaFree(p));
  CALL(cudaFreeHost(static_cast<char*>(p) + 4));
  CALL(cudaFreeHost(p));
  CALL(cudaFreeHost(p));
  CALL(cudaFreeHost(nullptr));
  int h = 0, *d = device_array<int>();
  CALL(cudaFreeHost(&h));
  CALL(cudaFreeHost(d));
}

CASE(mapped_memory) {
  int *p = nullptr, *d = nullptr, h = 0;
  unsigned flags = 99;
  CALL(cudaHostAlloc(&p, 1024, cudaHostAllocMapped));
  CALL(cudaHostGetDevicePointer(&d, p, 0));
  SHOW(d == p);
  CALL(cudaHostGetDevicePointer(&d, p + 10, 0));
  SHOW(d == p + 10);
  CALL(cudaHostGetDevicePointer(&d, p, 1));
  CALL(cudaHostGetDevicePointer(&d, &h, 0));
  CALL(cudaHostGetDevicePointer(static_cast<int**>(nullptr), p, 0));
  CALL(cudaHostGetDevicePointer(&d, nullptr, 0));
  CALL(cudaHostGetDevicePointer(&d, device_array<int>(), 0));
  int* m = nullptr;
  cudaMallocManaged(&m, 64);
  CALL(cudaHostGetDevicePointer(&d, m, 0));
  CALL(cudaHostGetFlags(&flags, p));
  SHOW(flags);
  CALL(cudaHostGetFlags(&flags, p + 3));
  CALL(cudaHostGetFlags(&flags, &h));
  CALL(cudaHostGetFlags(&flags, device_array<int>()));
  CALL(cudaHostGetFlags(nullptr, p));
  plain<<<1, 4>>>(p);
  CALL(cudaDeviceSynchronize());
  SHOW(p[3]);
}

CASE(registered_memory) {
  alignas(4096) static char page[16384];
  int* d = nullptr;
  unsigned flags = 99;
  CALL(cudaHostRegister(page, 4096, cudaHostRegisterDefault));
  CALL(cudaHostGetDevicePointer(&d, page, 0));
  SHOW(reinterpret_cast<char*>(d) == page);
  CALL(cudaHostGetFlags(&flags, page));
  SHOW(flags);
  CALL(cudaHostRegister(page, 4096, cudaHostRegisterDefault));
  CALL(cudaHostRegister(page + 100, 50, cudaHostRegisterDefault));
  CALL(cudaHostUnregister(page + 100));
  CALL(cudaHostRegister(page + 4096, 4096, cudaHostRegisterPortable));
  CALL(cudaHostUnregister(page));
  CALL(cudaHostUnregister(page));
  CALL(cudaHostUnregister(page + 4096));
  CALL(cudaHostRegister(page + 64, 100, cudaHostRegisterMapped));
  CALL(cudaHostUnregister(page + 64));
  CALL(cudaHostRegister(page, 4096, cudaHostRegisterReadOnly));
  CALL(cudaHostUnregister(page));
  CALL(cudaHostRegister(page, 4096, 16));
  CALL(cudaHostRegister(page, 0, 0));
  CALL(cudaHostRegister(nullptr, 4096, 0));
  CALL(cudaHostUnregister(nullptr));
  CALL(cudaHostRegister(device_array<int>(), 1024, 0));
  void* pinned = nullptr;
  cudaMallocHost(&pinned, 1024);
  CALL(cudaHostRegister(pinned, 1024, 0));
  CALL(cudaHostUnregister(pinned));
  CALL(cudaHostRegister(page, 8192, 0));
  CALL(cudaFreeHost(page));
  int* words = reinterpret_cast<int*>(page);
  words[0] = 0;
  plain<<<1, 4>>>(words);
  CALL(cudaDeviceSynchronize());
  SHOW(words[3]);
  CALL(cudaMemset(page, 7, 16));
  SHOW(page[3]);
  CALL(cudaHostUnregister(page));
}

CASE(pitched) {
  void* p = nullptr;
  size_t pitch = 99;
  for (size_t width : {1, 100, 512, 513, 4096, 5000}) {
    CALL(cudaMallocPitch(&p, &pitch, width, 3));
    SHOW(pitch);
  }
  pitch = 99;
  p = &p;
  CALL(cudaMallocPitch(&p, &pitch, 0, 3));
  SHOW(pitch);
  SHOW(p == nullptr);
  pitch = 99;
  CALL(cudaMallocPitch(&p, &pitch, 100, 0));
  SHOW(pitch);
  SHOW(p == nullptr);
  CALL(cudaMallocPitch(&p, nullptr, 100, 3));
  CALL(cudaMallocPitch(static_cast<void**>(nullptr), &pitch, 100, 3));
  CALL(cudaMallocPitch(&p, &pitch, static_cast<size_t>(1) << 40, static_cast<size_t>(1) << 40));
  CALL(cudaMallocPitch(&p, &pitch, static_cast<size_t>(1) << 40, 1));
  cudaPitchedPtr pitched = {};
  CALL(cudaMalloc3D(&pitched, make_cudaExtent(100, 7, 3)));
  SHOW(pitched.pitch);
  SHOW(pitched.xsize);
  SHOW(pitched.ysize);
  CALL(cudaMalloc3D(&pitched, make_cudaExtent(0, 7, 3)));
  SHOW(pitched.ptr == nullptr);
  SHOW(pitched.pitch);
  CALL(cudaMalloc3D(&pitched, make_cudaExtent(100, 7, 0)));
  SHOW(pitched.ptr == nullptr);
  CALL(cudaMalloc3D(nullptr, make_cudaExtent(100, 7, 3)));
  CALL(cudaMalloc3D(&pitched, make_cudaExtent(~static_cast<size_t>(0) / 2, 7, 3)));
}

static void show_attributes(const char* what, const void* pointer) {
  cudaPointerAttributes a;
  std::memset(&a, 99, sizeof a);
  ask(what);
  const int code = cudaPointerGetAttributes(&a, pointer);
  std::printf("%d, type %d, device %d, device pointer %s, host pointer %s\n", code, a.type, a.device,
              a.devicePointer == pointer ? "same" : a.devicePointer ? "other" : "null",
              a.hostPointer == pointer ? "same" : a.hostPointer ? "other" : "null");
  cudaGetLastError();
}

CASE(pointer_attributes) {
  char *p = device_array<char>(1024), *q, h[64];
  show_attributes("pageable", h);
  show_attributes("null", nullptr);
  show_attributes("one", reinterpret_cast<void*>(1));
  show_attributes("device", p);
  show_attributes("inside", p + 100);
  cudaFree(p);
  show_attributes("freed", p);
  cudaMallocHost(&q, 64);
  show_attributes("pinned", q);
  show_attributes("inside pinned", q + 5);
  cudaFreeHost(q);
  show_attributes("pinned and freed", q);
  cudaMallocManaged(&q, 64);
  show_attributes("managed", q);
  show_attributes("inside managed", q + 5);
  cudaMallocManaged(&q, 64, cudaMemAttachHost);
  show_attributes("managed by the host", q);
  alignas(4096) static char page[4096];
  cudaHostRegister(page, 4096, 0);
  show_attributes("registered", page);
  show_attributes("inside registered", page + 9);
  cudaHostUnregister(page);
  show_attributes("unregistered", page);
  void* at = nullptr;
  cudaGetSymbolAddress(&at, device_words);
  show_attributes("symbol", at);
  cudaGetSymbolAddress(&at, constants);
  show_attributes("constant", at);
  show_attributes("managed variable", &managed_word);
  show_attributes("function", reinterpret_cast<const void*>(show_attributes));
  cudaMallocAsync(&at, 64, nullptr);
  show_attributes("of a pool", at);
  CALL(cudaPointerGetAttributes(nullptr, h));
}

CASE(symbols) {
  void* at = nullptr;
  size_t bytes = 0;
  int h[16] = {1, 2, 3};
  CALL(cudaGetSymbolAddress(&at, device_words));
  CALL(cudaGetSymbolSize(&bytes, device_words));
  SHOW(bytes);
  CALL(cudaGetSymbolSize(&bytes, constants));
  SHOW(bytes);
  CALL(cudaGetSymbolSize(&bytes, managed_word));
  SHOW(bytes);
  CALL(cudaGetSymbolAddress(static_cast<void**>(nullptr), device_words));
  CALL(cudaGetSymbolAddress(&at, static_cast<const void*>(nullptr)));
  CALL(cudaGetSymbolSize(&bytes, static_cast<const void*>(nullptr)));
  CALL(cudaGetSymbolAddress(&at, h));
  CALL(cudaGetSymbolSize(&bytes, h));
  CALL(cudaMemcpyToSymbol(h, h, 4));
  CALL(cudaMemcpyToSymbol(device_words, h, 64));
  CALL(cudaMemcpyToSymbol(device_words, h, 65));
  CALL(cudaMemcpyToSymbol(device_words, h, 4, 60));
  CALL(cudaMemcpyToSymbol(device_words, h, 4, 61));
  CALL(cudaMemcpyToSymbol(device_words, h, 0, 64));
  CALL(cudaMemcpyToSymbol(device_words, h, 4, ~static_cast<size_t>(0)));
  CALL(cudaMemcpyToSymbol(device_words, nullptr, 4));
  CALL(cudaMemcpyFromSymbol(nullptr, device_words, 4));
  CALL(cudaMemcpyFromSymbol(h, device_words, 4, 4));
  for (int kind = 0; kind < 6; kind++) {
    std::printf("kind %d\n", kind);
    CALL(cudaMemcpyToSymbol(device_words, h, 4, 0, static_cast<cudaMemcpyKind>(kind)));
    CALL(cudaMemcpyToSymbolAsync(device_words, h, 4, 0, static_cast<cudaMemcpyKind>(kind), nullptr));
    CALL(cudaMemcpyFromSymbol(h, device_words, 4, 0, static_cast<cudaMemcpyKind>(kind)));
    CALL(cudaMemcpyFromSymbolAsync(h, constants, 4, 0, static_cast<cudaMemcpyKind>(kind), nullptr));
  }
  int* d = device_array<int>();
  CALL(cudaMemcpyToSymbol(device_words, d, 4, 0, cudaMemcpyDeviceToDevice));
  CALL(cudaMemcpyToSymbol(device_words, d, 4, 0, cudaMemcpyDefault));
  CALL(cudaMemcpyFromSymbol(d, device_words, 4, 0, cudaMemcpyDeviceToDevice));
  CALL(cudaMemcpyFromSymbol(d, device_words, 4, 0, cudaMemcpyDeviceToHost));
  CALL(cudaMemcpyToSymbol(managed_word, h, 4));
  SHOW(managed_word);
}

CASE(managed_hints) {
  char *p = nullptr, *d = device_array<char>(), h[64];
  cudaMallocManaged(&p, 1 << 20);
  cudaMemLocation gpu = {cudaMemLocationTypeDevice, 0}, cpu = {cudaMemLocationTypeHost, 0}, nowhere = {cudaMemLocationTypeDevice, 99};
  CALL(cudaMemPrefetchAsync(p, 1 << 20, gpu, 0, nullptr));
  CALL(cudaMemPrefetchAsync(p, 1 << 20, cpu, 0, nullptr));
  CALL(cudaMemPrefetchAsync(p, 100, gpu, 0, nullptr));
  CALL(cudaMemPrefetchAsync(p, 0, gpu, 0, nullptr));
  CALL(cudaMemPrefetchAsync(p, 1 << 20, gpu, 7, nullptr));
  CALL(cudaMemPrefetchAsync(p, 1 << 20, nowhere, 0, nullptr));
  CALL(cudaMemPrefetchAsync(p, static_cast<size_t>(1) << 40, gpu, 0, nullptr));
  CALL(cudaMemPrefetchAsync(nullptr, 100, gpu, 0, nullptr));
  CALL(cudaMemPrefetchAsync(d, 100, gpu, 0, nullptr));
  CALL(cudaMemPrefetchAsync(h, 64, gpu, 0, nullptr));
  for (int advice = 0; advice < 8; advice++) {
    std::printf("advice %d\n", advice);
    CALL(cudaMemAdvise(p, 1 << 20, static_cast<cudaMemoryAdvise>(advice), gpu));
    CALL(cudaMemAdvise(p, 1 << 20, static_cast<cudaMemoryAdvise>(advice), cpu));
  }
  CALL(cudaMemAdvise(p, 1 << 20, cudaMemAdviseSetReadMostly, nowhere));
  CALL(cudaMemAdvise(p, 1 << 20, cudaMemAdviseSetPreferredLocation, nowhere));
  CALL(cudaMemAdvise(d, 100, cudaMemAdviseSetReadMostly, gpu));
  CALL(cudaMemAdvise(nullptr, 100, cudaMemAdviseSetReadMostly, gpu));
  CALL(cudaMemAdvise(p, 0, cudaMemAdviseSetReadMostly, gpu));
  CALL(cudaMemAdvise(p, static_cast<size_t>(1) << 40, cudaMemAdviseSetReadMostly, gpu));
  CALL(cudaMemAdvise(p, 1 << 20, cudaMemAdviseUnsetReadMostly, gpu));
  CALL(cudaMemAdvise(p, 1 << 20, cudaMemAdviseUnsetPreferredLocation, gpu));
  int value = 99;
  CALL(cudaMemRangeGetAttribute(&value, 4, cudaMemRangeAttributeReadMostly, p, 1 << 20));
  SHOW(value);
  CALL(cudaMemAdvise(p, 1 << 20, cudaMemAdviseSetReadMostly, gpu));
  CALL(cudaMemRangeGetAttribute(&value, 4, cudaMemRangeAttributeReadMostly, p, 1 << 20));
  SHOW(value);
  CALL(cudaMemRangeGetAttribute(&value, 4, cudaMemRangeAttributePreferredLocation, p, 1 << 20));
  SHOW(value);
  CALL(cudaMemAdvise(p, 1 << 20, cudaMemAdviseSetPreferredLocation, gpu));
  CALL(cudaMemRangeGetAttribute(&value, 4, cudaMemRangeAttributePreferredLocation, p, 1 << 20));
  SHOW(value);
  CALL(cudaMemRangeGetAttribute(&value, 8, cudaMemRangeAttributeReadMostly, p, 1 << 20));
  CALL(cudaMemRangeGetAttribute(&value, 4, cudaMemRangeAttributeReadMostly, d, 64));
  cudaStream_t s;
  cudaStreamCreate(&s);
  CALL(cudaStreamAttachMemAsync(s, p, 0, cudaMemAttachSingle));
  CALL(cudaStreamAttachMemAsync(s, p, 0, cudaMemAttachGlobal));
  CALL(cudaStreamAttachMemAsync(s, p, 0, cudaMemAttachHost));
  CALL(cudaStreamAttachMemAsync(s, p, 0, 0));
  CALL(cudaStreamAttachMemAsync(nullptr, p, 0, cudaMemAttachSingle));
  CALL(cudaStreamAttachMemAsync(s, p, 100, cudaMemAttachGlobal));
  CALL(cudaStreamAttachMemAsync(s, p, 1 << 20, cudaMemAttachGlobal));
  CALL(cudaStreamAttachMemAsync(s, nullptr, 0, cudaMemAttachGlobal));
  CALL(cudaStreamAttachMemAsync(s, d, 0, cudaMemAttachGlobal));
}
