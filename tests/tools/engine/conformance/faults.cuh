// Faults, and what every kind of call answers afterwards.
#pragma once
#include <cassert>

#include "launches.cuh"

__global__ void beyond(int* p) { p[1 << 28] = 1; }
__global__ void at_null(int* p) { *reinterpret_cast<volatile int*>(p - p) = 1; }
__global__ void odd_address(int* p) { *reinterpret_cast<volatile int*>(reinterpret_cast<char*>(p) + 1) = 1; }
__global__ void trapping(int*) { asm("trap;"); }
__global__ void asserting(int* p) { assert(p == nullptr); }
__global__ void beyond_shared(int* p) {
  extern __shared__ int words[];
  reinterpret_cast<volatile int*>(words)[(1 << 20) + *p] = 1;
}
__global__ void beyond_local(int* p) {
  volatile int words[16];
  for (int k = 0; k < 16; k++) words[k] = k;
  words[(1 << 24) + *p] = 1;
}
__global__ void wrong_free(int* p) { free(p + 3); }
__global__ void double_free(int*) {
  void* p = malloc(64);
  free(p);
  free(p);
}
__global__ void jump_to_nowhere(int* p) {
  using Function = void (*)(int*);
  reinterpret_cast<Function>(static_cast<size_t>(*p) + 0x1230)(p);
}
__device__ int deeper(int n, volatile int* p) {
  volatile int words[256];
  words[n & 255] = n;
  return n < 0 ? 0 : deeper(n + 1 + *p, p) + words[(n + 1) & 255];
}
__global__ void endless_recursion(int* p) { *p = deeper(0, p); }
__global__ void odd_shared(int* p) {
  extern __shared__ int words[];
  *reinterpret_cast<volatile int*>(reinterpret_cast<char*>(words) + 1 + *p) = 1;
}

static void after_fault(void (*kernel)(int*)) {
  int *p = device_array<int>(), *q = nullptr, h = 0;
  cudaStream_t s;
  cudaEvent_t e;
  cudaStreamCreate(&s);
  cudaEventCreate(&e);
  CALL(cudaEventRecord(e, s));
  kernel<<<1, 32, 1024>>>(p);
  DRIVER(cudaGetLastError());
  usleep(300000);
  DRIVER(cudaPeekAtLastError());
  DRIVER(cudaDeviceSynchronize());
  DRIVER(cudaPeekAtLastError());
  DRIVER(cudaGetLastError());
  DRIVER(cudaGetLastError());
  CALL(cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost));
  CALL(cudaMalloc(&q, 4));
  CALL(cudaFree(p));
  LAUNCH(plain<<<1, 32>>>(p));
}

CASE(fault_beyond) { after_fault(beyond); }
CASE(fault_at_null) { after_fault(at_null); }
CASE(fault_odd_address) { after_fault(odd_address); }
CASE(fault_trap) { after_fault(trapping); }
CASE(fault_assert) { after_fault(asserting); }
CASE(fault_beyond_shared) { after_fault(beyond_shared); }
CASE(fault_beyond_local) { after_fault(beyond_local); }
CASE(fault_wrong_free) { after_fault(wrong_free); }
CASE(fault_double_free) { after_fault(double_free); }
CASE(fault_jump) { after_fault(jump_to_nowhere); }
CASE(fault_recursion) { after_fault(endless_recursion); }
CASE(fault_odd_shared) { after_fault(odd_shared); }

CASE(every_call_after_a_fault) {
  int *p = device_array<int>(), *q = nullptr, *pinned = nullptr, *managed = nullptr, h = 0, n = 0;
  size_t bytes = 0, total = 0;
  unsigned flags = 0;
  float ms = 0;
  cudaStream_t s, t;
  cudaEvent_t e, f;
  cudaDeviceProp properties;
  cudaFuncAttributes attributes;
  cudaPointerAttributes where;
  cudaMemPool_t pool;
  void* at = nullptr;
  cudaStreamCreate(&s);
  cudaEventCreate(&e);
  cudaEventCreate(&f);
  cudaEventRecord(e, s);
  cudaEventRecord(f, s);
  cudaMallocHost(&pinned, 64);
  cudaMallocManaged(&managed, 64);
  cudaDeviceSynchronize();
  beyond<<<1, 1>>>(p);
  usleep(300000);
  CALL(cudaStreamQuery(s));
  CALL(cudaStreamQuery(nullptr));
  CALL(cudaStreamSynchronize(s));
  CALL(cudaEventQuery(e));
  CALL(cudaEventSynchronize(e));
  CALL(cudaEventElapsedTime(&ms, e, f));
  CALL(cudaEventRecord(e, s));
  CALL(cudaStreamWaitEvent(s, e, 0));
  CALL(cudaStreamCreate(&t));
  CALL(cudaStreamGetPriority(s, &n));
  CALL(cudaStreamGetFlags(s, &flags));
  CALL(cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost));
  CALL(cudaMemcpyAsync(&h, p, 4, cudaMemcpyDeviceToHost, s));
  CALL(cudaMemcpy(&h, &n, 4, cudaMemcpyHostToHost));
  CALL(cudaMemcpy(&h, p, 0, cudaMemcpyDeviceToHost));
  CALL(cudaMemset(p, 0, 4));
  CALL(cudaMemset(p, 0, 0));
  CALL(cudaMemcpy2D(&h, 4, p, 4, 4, 1, cudaMemcpyDeviceToHost));
  CALL(cudaMemcpyToSymbol(table, &h, 4));
  CALL(cudaMalloc(&q, 4));
  CALL(cudaMalloc(static_cast<void**>(nullptr), 4));
  CALL(cudaMallocManaged(&q, 4));
  CALL(cudaMallocHost(&q, 4));
  CALL(cudaMallocAsync(&q, 4, s));
  CALL(cudaMallocPitch(&q, &bytes, 4, 4));
  CALL(cudaHostRegister(&attributes, sizeof attributes, 0));
  CALL(cudaFreeHost(pinned));
  CALL(cudaFree(managed));
  CALL(cudaFree(nullptr));
  CALL(cudaFreeAsync(p, s));
  CALL(cudaMemGetInfo(&bytes, &total));
  CALL(cudaPointerGetAttributes(&where, p));
  CALL(cudaFuncGetAttributes(&attributes, plain));
  CALL(cudaFuncSetAttribute(plain, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024));
  CALL(cudaFuncSetCacheConfig(plain, cudaFuncCachePreferL1));
  CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, plain, 32, 0));
  CALL(cudaGetSymbolAddress(&at, table));
  CALL(cudaDeviceGetDefaultMemPool(&pool, 0));
  CALL(cudaDeviceGetLimit(&bytes, cudaLimitStackSize));
  CALL(cudaDeviceSetLimit(cudaLimitStackSize, 2048));
  CALL(cudaDeviceGetStreamPriorityRange(&n, &h));
  CALL(cudaDeviceSynchronize());
  CALL(cudaGetDeviceCount(&n));
  CALL(cudaGetDevice(&n));
  CALL(cudaSetDevice(0));
  CALL(cudaGetDeviceProperties(&properties, 0));
  CALL(cudaDeviceGetAttribute(&n, cudaDevAttrWarpSize, 0));
  CALL(cudaRuntimeGetVersion(&n));
  CALL(cudaDriverGetVersion(&n));
  CALL(cudaGetDeviceFlags(&flags));
  CALL(cudaSetDeviceFlags(cudaDeviceScheduleAuto));
  CALL(cudaLaunchHostFunc(s, [](void*) {}, nullptr));
  void* arguments[] = {&p};
  CALL(cudaLaunchKernel(reinterpret_cast<void*>(plain), dim3(1), dim3(32), arguments, 0, nullptr));
  CALL(cudaLaunchKernel(reinterpret_cast<void*>(plain), dim3(1), dim3(2000), arguments, 0, nullptr));
  CALL(cudaLaunchCooperativeKernel(plain, dim3(1), dim3(32), arguments, 0, nullptr));
  CALL(cudaEventDestroy(f));
  CALL(cudaStreamDestroy(s));
  CALL(cudaEventCreate(&f));
  CUdeviceptr address = 0;
  CUcontext context = nullptr;
  CUdevice device = 99;
  DRIVER(cuInit(0));
  DRIVER(cuCtxGetCurrent(&context));
  DRIVER(cuCtxGetDevice(&device));
  DRIVER(cuCtxSynchronize());
  DRIVER(cuMemAlloc(&address, 4));
  DRIVER(cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
  CALL(cudaDeviceReset());
  CALL(cudaMalloc(&q, 4));
  CALL(cudaDeviceSynchronize());
  CALL(cudaGetDeviceCount(&n));
}

// A wrong launch breaks nothing, also between good ones.
CASE(mistakes_do_not_stick) {
  int *p = device_array<int>(), h = 0;
  LAUNCH(plain<<<1, 4096>>>(p));
  LAUNCH(plain<<<1, 32>>>(p));
  CALL(cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost));
  SHOW(h);
  CALL(cudaFree(&h));
  CALL(cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost));
  LAUNCH(plain<<<1, 32, 1 << 20>>>(p));
  CALL(cudaDeviceSynchronize());
}
