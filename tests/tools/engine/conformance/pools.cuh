// Stream-ordered allocation and pools.
#pragma once
#include "answers.cuh"

static cudaMemPoolProps device_pool() {
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.handleTypes = cudaMemHandleTypeNone;
  properties.location = {cudaMemLocationTypeDevice, 0};
  return properties;
}

CASE(allocate_async) {
  int *p = nullptr, *q = nullptr;
  cudaStream_t s;
  cudaStreamCreate(&s);
  CALL(cudaMallocAsync(&p, 1024, s));
  CALL(cudaFreeAsync(p, s));
  CALL(cudaMallocAsync(&p, 1024, nullptr));
  CALL(cudaFreeAsync(p, nullptr));
  CALL(cudaStreamSynchronize(nullptr));
  CALL(cudaFreeAsync(p, nullptr));
  p = reinterpret_cast<int*>(8);
  CALL(cudaMallocAsync(&p, 0, s));
  SHOW(p == nullptr);
  CALL(cudaMallocAsync(static_cast<void**>(nullptr), 64, s));
  CALL(cudaMallocAsync(&p, static_cast<size_t>(1) << 60, s));
  CALL(cudaFreeAsync(nullptr, s));
  CALL(cudaMallocAsync(&p, 64, s));
  CALL(cudaFree(p));
  CALL(cudaMallocAsync(&p, 64, s));
  CALL(cudaFreeAsync(p + 1, s));
  CALL(cudaStreamSynchronize(s));
  CALL(cudaFreeAsync(p, cudaStreamPerThread));
  CALL(cudaMalloc(&q, 64));
  CALL(cudaFreeAsync(q, s));
  CALL(cudaDeviceSynchronize());
  CALL(cudaFree(q));
  int h = 0;
  CALL(cudaFreeAsync(&h, s));
  cudaMallocManaged(&q, 64);
  CALL(cudaFreeAsync(q, s));
  cudaMallocHost(&q, 64);
  CALL(cudaFreeAsync(q, s));
}

CASE(default_pool) {
  cudaMemPool_t pool = nullptr, current = nullptr, made = nullptr;
  CALL(cudaDeviceGetDefaultMemPool(&pool, 0));
  CALL(cudaDeviceGetDefaultMemPool(&pool, 99));
  CALL(cudaDeviceGetDefaultMemPool(nullptr, 0));
  CALL(cudaDeviceGetMemPool(&current, 0));
  SHOW(current == pool);
  CALL(cudaDeviceGetMemPool(nullptr, 0));
  CALL(cudaMemPoolDestroy(pool));
  cudaMemPoolProps properties = device_pool();
  CALL(cudaMemPoolCreate(&made, &properties));
  CALL(cudaDeviceSetMemPool(0, made));
  CALL(cudaDeviceGetMemPool(&current, 0));
  SHOW(current == made);
  int* p = nullptr;
  CALL(cudaMallocAsync(&p, 1 << 20, nullptr));
  CALL(cudaDeviceSynchronize());
  unsigned long long used = 0;
  CALL(cudaMemPoolGetAttribute(made, cudaMemPoolAttrUsedMemCurrent, &used));
  SHOW(used);
  CALL(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  SHOW(used);
  CALL(cudaFreeAsync(p, nullptr));
  CALL(cudaMemPoolDestroy(made));
  CALL(cudaDeviceGetMemPool(&current, 0));
  SHOW(current == pool);
  CALL(cudaDeviceSetMemPool(0, nullptr));
  CALL(cudaMemPoolDestroy(nullptr));
}

CASE(pool_properties) {
  cudaMemPool_t pool = nullptr;
  cudaMemPoolProps properties = device_pool();
  CALL(cudaMemPoolCreate(nullptr, &properties));
  CALL(cudaMemPoolCreate(&pool, nullptr));
  properties.allocType = cudaMemAllocationTypeInvalid;
  CALL(cudaMemPoolCreate(&pool, &properties));
  properties = device_pool();
  properties.location.id = 99;
  CALL(cudaMemPoolCreate(&pool, &properties));
  properties = device_pool();
  properties.location.type = cudaMemLocationTypeInvalid;
  CALL(cudaMemPoolCreate(&pool, &properties));
  properties = device_pool();
  properties.maxSize = 4 << 20;
  CALL(cudaMemPoolCreate(&pool, &properties));
  int* p = nullptr;
  CALL(cudaMallocFromPoolAsync(&p, 1 << 20, pool, nullptr));
  CALL(cudaMallocFromPoolAsync(&p, 1 << 30, pool, nullptr));
  CALL(cudaMallocFromPoolAsync(&p, 0, pool, nullptr));
  CALL(cudaMallocFromPoolAsync(static_cast<void**>(nullptr), 64, pool, nullptr));
}

CASE(pool_attributes) {
  cudaMemPool_t pool = nullptr;
  cudaMemPoolProps properties = device_pool();
  CALL(cudaMemPoolCreate(&pool, &properties));
  for (int id = 0; id < 11; id++) {
    unsigned long long value = 0;
    ask("cudaMemPoolGetAttribute");
    const int code = cudaMemPoolGetAttribute(pool, static_cast<cudaMemPoolAttr>(id), &value);
    std::printf("%d: %d, %llu\n", id, code, value);
    cudaGetLastError();
  }
  for (int id = 0; id < 11; id++)
    for (unsigned long long value : {0ull, 1ull, 2ull, 4096ull}) {
      ask("cudaMemPoolSetAttribute");
      const int code = cudaMemPoolSetAttribute(pool, static_cast<cudaMemPoolAttr>(id), &value);
      std::printf("%d to %llu: %d", id, value, code);
      cudaMemPoolGetAttribute(pool, static_cast<cudaMemPoolAttr>(id), &value);
      std::printf(", %llu\n", value);
      cudaGetLastError();
    }
  CALL(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, nullptr));
  CALL(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, nullptr));
  unsigned long long value = ~0ull;
  CALL(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &value));
  CALL(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &value));
  SHOW(value);
}

static void show_use(cudaMemPool_t pool) {
  unsigned long long used = 0, high = 0;
  cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used);
  cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &high);
  std::printf("used %llu, at most %llu\n", used, high);
}

CASE(pool_use) {
  cudaMemPool_t pool = nullptr;
  cudaMemPoolProps properties = device_pool();
  unsigned long long reserved = 0, zero = 0;
  cudaStream_t s;
  cudaStreamCreate(&s);
  CALL(cudaMemPoolCreate(&pool, &properties));
  show_use(pool);
  int *p = nullptr, *q = nullptr;
  CALL(cudaMallocFromPoolAsync(&p, 100, pool, s));
  show_use(pool);
  CALL(cudaMallocFromPoolAsync(&q, 1 << 20, pool, s));
  show_use(pool);
  CALL(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
  SHOW(reserved);
  CALL(cudaFreeAsync(q, s));
  CALL(cudaStreamSynchronize(s));
  show_use(pool);
  CALL(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &zero));
  show_use(pool);
  CALL(cudaFreeAsync(p, s));
  CALL(cudaStreamSynchronize(s));
  show_use(pool);
  CALL(cudaMemPoolTrimTo(pool, 0));
  CALL(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
  SHOW(reserved);
  CALL(cudaMemPoolTrimTo(nullptr, 0));
}

CASE(pool_access) {
  cudaMemPool_t pool = nullptr;
  cudaMemPoolProps properties = device_pool();
  CALL(cudaMemPoolCreate(&pool, &properties));
  cudaMemLocation here = {cudaMemLocationTypeDevice, 0};
  cudaMemAccessFlags flags = cudaMemAccessFlagsProtNone;
  CALL(cudaMemPoolGetAccess(&flags, pool, &here));
  SHOW(flags);
  cudaMemAccessDesc access = {here, cudaMemAccessFlagsProtReadWrite};
  CALL(cudaMemPoolSetAccess(pool, &access, 1));
  access.flags = cudaMemAccessFlagsProtNone;
  CALL(cudaMemPoolSetAccess(pool, &access, 1));
  access.location.id = 99;
  CALL(cudaMemPoolSetAccess(pool, &access, 1));
  CALL(cudaMemPoolSetAccess(pool, nullptr, 0));
  CALL(cudaMemPoolSetAccess(pool, nullptr, 1));
  CALL(cudaMemPoolGetAccess(nullptr, pool, &here));
}
