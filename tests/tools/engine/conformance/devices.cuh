// What a device says of itself, and what can be set of it. Answers that depend on the machine (how many devices, where, how much
// memory) are left out.
#pragma once
#include "answers.cuh"

CASE(device_choice) {
  int device = 99;
  CALL(cudaSetDevice(-1));
  CALL(cudaSetDevice(99));
  CALL(cudaGetDevice(&device));
  SHOW(device);
  CALL(cudaSetDevice(0));
  cudaDeviceProp wanted = {};
  CALL(cudaChooseDevice(&device, &wanted));
  CALL(cudaChooseDevice(nullptr, &wanted));
  CALL(cudaChooseDevice(&device, nullptr));
  int list[2] = {0, 0};
  CALL(cudaSetValidDevices(list, 1));
  CALL(cudaSetValidDevices(nullptr, 0));
  list[0] = 99;
  CALL(cudaSetValidDevices(list, 1));
  CALL(cudaInitDevice(0, 0, 0));
  CALL(cudaInitDevice(99, 0, 0));
  CALL(cudaInitDevice(0, cudaDeviceScheduleYield, cudaInitDeviceFlagsAreValid));
  CALL(cudaInitDevice(0, 999, cudaInitDeviceFlagsAreValid));
}

CASE(device_flags) {
  unsigned flags = 99;
  CALL(cudaGetDeviceFlags(&flags));
  SHOW(flags);
  for (unsigned word : {0u, 1u, 2u, 3u, 4u, 5u, 8u, 16u, 32u, 64u, 128u, 256u, 12u}) {
    std::printf("flags %u\n", word);
    CALL(cudaSetDeviceFlags(word));
    CALL(cudaGetDeviceFlags(&flags));
    SHOW(flags);
  }
  CALL(cudaFree(nullptr));
  CALL(cudaGetDeviceFlags(&flags));
  SHOW(flags);
  CALL(cudaSetDeviceFlags(cudaDeviceScheduleSpin));
  CALL(cudaGetDeviceFlags(&flags));
  SHOW(flags);
}

CASE(device_limits) {
  for (int limit = -1; limit < 10; limit++) {
    size_t value = 99;
    ask("cudaDeviceGetLimit");
    int code = cudaDeviceGetLimit(&value, static_cast<cudaLimit>(limit));
    std::printf("%d: %d, %zu\n", limit, code, value);
    cudaGetLastError();
  }
  for (int limit = 0; limit < 8; limit++)
    for (size_t wanted : {size_t{0}, size_t{1}, size_t{100}, size_t{4096}, size_t{100000}, size_t{1} << 24}) {
      size_t value = 99;
      ask("cudaDeviceSetLimit");
      const int code = cudaDeviceSetLimit(static_cast<cudaLimit>(limit), wanted);
      cudaDeviceGetLimit(&value, static_cast<cudaLimit>(limit));
      std::printf("%d to %zu: %d, %zu\n", limit, wanted, code, value);
      cudaGetLastError();
    }
  CALL(cudaDeviceSetLimit(cudaLimitStackSize, static_cast<size_t>(1) << 40));
  CALL(cudaDeviceSetLimit(cudaLimitMallocHeapSize, static_cast<size_t>(1) << 50));
}

__global__ void use_heap(int* result, size_t bytes) {
  void* p = malloc(bytes);
  *result = p != nullptr;
  free(p);
}
CASE(heap_of_the_device) {
  int* ok = nullptr;
  cudaMallocHost(&ok, 4);
  size_t value = 0;
  CALL(cudaDeviceGetLimit(&value, cudaLimitMallocHeapSize));
  SHOW(value);
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{1} << 20, size_t{7} << 20, size_t{9} << 20, size_t{1} << 33}) {
    *ok = 9;
    use_heap<<<1, 1>>>(ok, bytes);
    CALL(cudaDeviceSynchronize());
    std::printf("malloc of %zu: %d\n", bytes, *ok);
  }
  CALL(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 64 << 20));
  CALL(cudaDeviceGetLimit(&value, cudaLimitMallocHeapSize));
  SHOW(value);
}
CASE(larger_heap_of_the_device) {
  int* ok = nullptr;
  cudaMallocHost(&ok, 4);
  CALL(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 64 << 20));
  use_heap<<<1, 1>>>(ok, 60 << 20);
  CALL(cudaDeviceSynchronize());
  SHOW(*ok);
  use_heap<<<1, 1>>>(ok, 70 << 20);
  CALL(cudaDeviceSynchronize());
  SHOW(*ok);
  int* p = nullptr;
  CALL(cudaMalloc(&p, 4));
}

__global__ void heap_pointer(int** result) { *result = static_cast<int*>(malloc(64)); }
CASE(heap_and_host) {
  int **p = nullptr, h = 0;
  cudaMallocHost(&p, 8);
  heap_pointer<<<1, 1>>>(p);
  CALL(cudaDeviceSynchronize());
  SHOW(*p != nullptr);
  CALL(cudaMemcpy(&h, *p, 4, cudaMemcpyDeviceToHost));
  CALL(cudaMemset(*p, 0, 4));
  CALL(cudaFree(*p));
}

__global__ void print_line(int n) {
  const int written = printf("line %d %s\n", n, "of the device");
  if (n == 0) printf("returned %d\n", written);
}
CASE(printf_of_the_device) {
  print_line<<<1, 1>>>(0);
  CALL(cudaDeviceSynchronize());
  print_line<<<1, 1>>>(1);
  CALL(cudaDeviceSynchronize());
  size_t value = 0;
  CALL(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 1 << 20));
  CALL(cudaDeviceGetLimit(&value, cudaLimitPrintfFifoSize));
  SHOW(value);
}

CASE(cache_configuration) {
  cudaFuncCache cache = static_cast<cudaFuncCache>(99);
  CALL(cudaDeviceGetCacheConfig(&cache));
  SHOW(cache);
  for (int wanted = -1; wanted < 5; wanted++) {
    std::printf("configuration %d\n", wanted);
    CALL(cudaDeviceSetCacheConfig(static_cast<cudaFuncCache>(wanted)));
    CALL(cudaDeviceGetCacheConfig(&cache));
    SHOW(cache);
    CALL(cudaFuncSetCacheConfig(plain, static_cast<cudaFuncCache>(wanted)));
  }
  CALL(cudaFuncSetCacheConfig(static_cast<const void*>(nullptr), cudaFuncCachePreferL1));
}

CASE(device_properties) {
  cudaDeviceProp p;
  CALL(cudaGetDeviceProperties(&p, 0));
#define FIELD(name) std::printf(#name ": %lld\n", static_cast<long long>(p.name))
  FIELD(sharedMemPerBlock);
  FIELD(regsPerBlock);
  FIELD(warpSize);
  FIELD(memPitch);
  FIELD(maxThreadsPerBlock);
  FIELD(maxThreadsDim[0]);
  FIELD(maxThreadsDim[1]);
  FIELD(maxThreadsDim[2]);
  FIELD(maxGridSize[0]);
  FIELD(maxGridSize[1]);
  FIELD(maxGridSize[2]);
  FIELD(totalConstMem);
  FIELD(major);
  FIELD(minor);
  FIELD(textureAlignment);
  FIELD(texturePitchAlignment);
  FIELD(multiProcessorCount);
  FIELD(integrated);
  FIELD(canMapHostMemory);
  FIELD(maxTexture1D);
  FIELD(maxTexture1DMipmap);
  FIELD(maxTexture2D[0]);
  FIELD(maxTexture2D[1]);
  FIELD(maxTexture2DMipmap[0]);
  FIELD(maxTexture2DLinear[0]);
  FIELD(maxTexture2DLinear[1]);
  FIELD(maxTexture2DLinear[2]);
  FIELD(maxTexture2DGather[0]);
  FIELD(maxTexture3D[0]);
  FIELD(maxTexture3DAlt[0]);
  FIELD(maxTextureCubemap);
  FIELD(maxTexture1DLayered[0]);
  FIELD(maxTexture1DLayered[1]);
  FIELD(maxTexture2DLayered[0]);
  FIELD(maxTexture2DLayered[2]);
  FIELD(maxTextureCubemapLayered[0]);
  FIELD(maxTextureCubemapLayered[1]);
  FIELD(maxSurface1D);
  FIELD(maxSurface2D[0]);
  FIELD(maxSurface2D[1]);
  FIELD(maxSurface3D[0]);
  FIELD(maxSurface1DLayered[0]);
  FIELD(maxSurface2DLayered[0]);
  FIELD(maxSurfaceCubemap);
  FIELD(maxSurfaceCubemapLayered[0]);
  FIELD(surfaceAlignment);
  FIELD(concurrentKernels);
  FIELD(ECCEnabled);
  FIELD(tccDriver);
  FIELD(asyncEngineCount);
  FIELD(unifiedAddressing);
  FIELD(memoryBusWidth);
  FIELD(l2CacheSize);
  FIELD(persistingL2CacheMaxSize);
  FIELD(maxThreadsPerMultiProcessor);
  FIELD(streamPrioritiesSupported);
  FIELD(globalL1CacheSupported);
  FIELD(localL1CacheSupported);
  FIELD(sharedMemPerMultiprocessor);
  FIELD(regsPerMultiprocessor);
  FIELD(managedMemory);
  FIELD(isMultiGpuBoard);
  FIELD(hostNativeAtomicSupported);
  FIELD(pageableMemoryAccess);
  FIELD(concurrentManagedAccess);
  FIELD(computePreemptionSupported);
  FIELD(canUseHostPointerForRegisteredMem);
  FIELD(cooperativeLaunch);
  FIELD(sharedMemPerBlockOptin);
  FIELD(pageableMemoryAccessUsesHostPageTables);
  FIELD(directManagedMemAccessFromHost);
  FIELD(maxBlocksPerMultiProcessor);
  FIELD(accessPolicyMaxWindowSize);
  FIELD(reservedSharedMemPerBlock);
  FIELD(hostRegisterSupported);
  FIELD(sparseCudaArraySupported);
  FIELD(hostRegisterReadOnlySupported);
  FIELD(timelineSemaphoreInteropSupported);
  FIELD(memoryPoolsSupported);
  FIELD(gpuDirectRDMASupported);
  FIELD(gpuDirectRDMAFlushWritesOptions);
  FIELD(gpuDirectRDMAWritesOrdering);
  FIELD(memoryPoolSupportedHandleTypes);
  FIELD(deferredMappingCudaArraySupported);
  FIELD(ipcEventSupported);
  FIELD(clusterLaunch);
  FIELD(unifiedFunctionPointers);
#undef FIELD
}

CASE(peers_and_places) {
  int can = 99, device = 99, value = 99;
  CALL(cudaDeviceCanAccessPeer(&can, 0, 0));
  SHOW(can);
  CALL(cudaDeviceCanAccessPeer(&can, 0, 99));
  CALL(cudaDeviceCanAccessPeer(&can, -1, 0));
  CALL(cudaDeviceEnablePeerAccess(0, 0));
  CALL(cudaDeviceEnablePeerAccess(99, 0));
  CALL(cudaDeviceDisablePeerAccess(0));
  CALL(cudaDeviceDisablePeerAccess(99));
  CALL(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 0));
  CALL(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 99));
  char text[64] = "";
  CALL(cudaDeviceGetPCIBusId(text, 64, 0));
  SHOW(std::strlen(text));
  CALL(cudaDeviceGetByPCIBusId(&device, text));
  SHOW(device);
  CALL(cudaDeviceGetPCIBusId(text, 13, 0));
  CALL(cudaDeviceGetPCIBusId(text, 12, 0));
  CALL(cudaDeviceGetPCIBusId(text, 0, 0));
  CALL(cudaDeviceGetPCIBusId(nullptr, 64, 0));
  CALL(cudaDeviceGetPCIBusId(text, 64, 99));
  CALL(cudaDeviceGetByPCIBusId(&device, "no such place"));
  CALL(cudaDeviceGetByPCIBusId(&device, "ffff:ff:1f.0"));
  CALL(cudaDeviceGetByPCIBusId(nullptr, text));
  CALL(cudaDeviceGetByPCIBusId(&device, nullptr));
}

CASE(reset) {
  int *p = device_array<int>(), h = 0;
  cudaStream_t s;
  cudaStreamCreate(&s);
  CALL(cudaDeviceReset());
  CALL(cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost));
  CALL(cudaFree(p));
  CALL(cudaMalloc(&p, 4));
  CALL(cudaMemset(p, 0, 4));
  LAUNCH(plain<<<1, 1>>>(p));
  CALL(cudaDeviceSynchronize());
  CALL(cudaProfilerStart());
  CALL(cudaProfilerStop());
}
