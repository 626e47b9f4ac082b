// Names and texts of errors, and how the last error behaves.
#pragma once
#include "answers.cuh"

CASE(error_names) {
  for (int code = 0; code < 1100; code++) {
    const char* name = cudaGetErrorName(static_cast<cudaError_t>(code));
    if (std::strcmp(name, "unrecognized error code")) std::printf("%d %s: %s\n", code, name, cudaGetErrorString(static_cast<cudaError_t>(code)));
  }
  TEXT(cudaGetErrorName(static_cast<cudaError_t>(5000)));
  TEXT(cudaGetErrorString(static_cast<cudaError_t>(5000)));
  TEXT(cudaGetErrorName(static_cast<cudaError_t>(-1)));
}

CASE(driver_error_names) {
  for (int code = 0; code < 1100; code++) {
    const char *name = nullptr, *text = nullptr;
    const int named = cuGetErrorName(static_cast<CUresult>(code), &name), told = cuGetErrorString(static_cast<CUresult>(code), &text);
    if (!named || !told) std::printf("%d %s: %s\n", code, name ? name : "(null)", text ? text : "(null)");
  }
  const char* name = "before";
  DRIVER(cuGetErrorName(static_cast<CUresult>(5000), &name));
  TEXT(name);
  name = "before";
  DRIVER(cuGetErrorString(static_cast<CUresult>(5000), &name));
  TEXT(name);
  DRIVER(cuGetErrorName(CUDA_SUCCESS, nullptr));
  DRIVER(cuGetErrorString(CUDA_SUCCESS, nullptr));
}

CASE(last_error) {
  int* p = nullptr;
  DRIVER(cudaGetLastError());
  DRIVER(cudaMalloc(nullptr, 4));
  DRIVER(cudaPeekAtLastError());
  DRIVER(cudaMalloc(&p, 4));
  DRIVER(cudaPeekAtLastError());
  DRIVER(cudaDeviceSynchronize());
  DRIVER(cudaSetDevice(0));
  DRIVER(cudaPeekAtLastError());
  DRIVER(cudaStreamDestroy(nullptr));
  DRIVER(cudaPeekAtLastError());
  plain<<<1, 1>>>(p);
  DRIVER(cudaPeekAtLastError());
  plain<<<1, 2000>>>(p);
  DRIVER(cudaPeekAtLastError());
  plain<<<1, 1>>>(p);
  DRIVER(cudaGetLastError());
  DRIVER(cudaGetLastError());
  DRIVER(cudaSetDevice(99));
  DRIVER(cudaGetLastError());
  DRIVER(cudaEventQuery(nullptr));
  DRIVER(cudaGetLastError());
  DRIVER(cuMemAlloc(nullptr, 4));
  DRIVER(cudaGetLastError());
  std::thread([] {
    DRIVER(cudaGetLastError());
    DRIVER(cudaMalloc(nullptr, 4));
    DRIVER(cudaPeekAtLastError());
  }).join();
  DRIVER(cudaGetLastError());
}

// Which queries note a failure at all.
CASE(errors_of_queries) {
  int n = 0;
  cudaDeviceProp properties;
  CALL(cudaGetDeviceCount(nullptr));
  CALL(cudaGetDevice(nullptr));
  CALL(cudaGetDeviceProperties(nullptr, 0));
  CALL(cudaGetDeviceProperties(&properties, -1));
  CALL(cudaGetDeviceProperties(&properties, 99));
  CALL(cudaDeviceGetAttribute(nullptr, cudaDevAttrWarpSize, 0));
  CALL(cudaDeviceGetAttribute(&n, static_cast<cudaDeviceAttr>(0), 0));
  CALL(cudaDeviceGetAttribute(&n, static_cast<cudaDeviceAttr>(100000), 0));
  CALL(cudaDeviceGetAttribute(&n, cudaDevAttrWarpSize, 99));
  CALL(cudaDeviceGetAttribute(&n, cudaDevAttrWarpSize, -1));
  CALL(cudaRuntimeGetVersion(nullptr));
  CALL(cudaDriverGetVersion(nullptr));
  CALL(cudaRuntimeGetVersion(&n));
  SHOW(n);
  CALL(cudaDeviceGetLimit(nullptr, cudaLimitStackSize));
  CALL(cudaDeviceGetStreamPriorityRange(nullptr, nullptr));
  CALL(cudaMemGetInfo(nullptr, nullptr));
  CALL(cudaPointerGetAttributes(nullptr, &n));
  CALL(cudaFuncGetAttributes(nullptr, plain));
  CALL(cudaStreamCreate(nullptr));
  CALL(cudaEventCreate(nullptr));
  CALL(cudaGetSymbolSize(nullptr, nullptr));
  CALL(cudaDeviceGetCacheConfig(nullptr));
  CALL(cudaGetDeviceFlags(nullptr));
  CALL(cudaStreamGetPriority(nullptr, nullptr));
  CALL(cudaStreamGetFlags(nullptr, nullptr));
  CALL(cudaDeviceCanAccessPeer(nullptr, 0, 0));
}
