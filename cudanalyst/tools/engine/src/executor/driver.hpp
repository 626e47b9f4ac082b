// The driver API, loaded at run time: NVIDIA's library on a GPU, the CPU engine's elsewhere.
#pragma once
#include <cuda.h>
#include <cudaProfiler.h>

#include <string>

#include "failure.hpp"

// One table: members, look-up and names come from it. The headers map names to versions (cuMemAlloc to cuMemAlloc_v2), here as there.
// clang-format off
#define CUDANALYST_DRIVER(X)                                                                                                              \
  X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName) X(cuGetErrorString)                                                                   \
  X(cuDeviceGet) X(cuDeviceGetName) X(cuDeviceGetUuid) X(cuDeviceTotalMem) X(cuDeviceGetAttribute)                                        \
  X(cuCtxCreate) X(cuCtxDestroy) X(cuCtxSetCurrent) X(cuCtxSynchronize) X(cuCtxGetStreamPriorityRange)                                    \
  X(cuModuleLoadDataEx) X(cuModuleUnload) X(cuModuleGetFunction) X(cuModuleGetGlobal) X(cuModuleGetFunctionCount)                         \
  X(cuModuleEnumerateFunctions) X(cuFuncGetName) X(cuFuncGetAttribute) X(cuFuncSetAttribute) X(cuFuncGetParamInfo)                        \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor)                                                                                          \
  X(cuMemAlloc) X(cuMemFree) X(cuMemGetInfo) X(cuMemGetAddressRange) X(cuMemHostAlloc) X(cuMemFreeHost) X(cuMemHostGetDevicePointer)      \
  X(cuMemcpyHtoD) X(cuMemcpyDtoH) X(cuMemcpyHtoDAsync) X(cuMemcpyDtoDAsync) X(cuMemcpy2DAsync)                                            \
  X(cuMemsetD8) X(cuMemsetD8Async) X(cuMemsetD16Async) X(cuMemsetD32Async) X(cuMemsetD2D8Async) X(cuMemsetD2D16Async) X(cuMemsetD2D32Async) \
  X(cuIpcGetMemHandle) X(cuTensorMapEncodeTiled) X(cuProfilerStart) X(cuProfilerStop)                                                     \
  X(cuStreamCreateWithPriority) X(cuStreamDestroy) X(cuStreamSynchronize) X(cuStreamQuery) X(cuStreamWaitEvent) X(cuLaunchKernelEx)                        \
  X(cuEventCreate) X(cuEventDestroy) X(cuEventRecord) X(cuEventSynchronize) X(cuEventElapsedTime)                                         \
  X(cuStreamBeginCapture) X(cuStreamEndCapture) X(cuGraphInstantiate) X(cuGraphUpload) X(cuGraphLaunch) X(cuGraphDestroy) X(cuGraphExecDestroy)
// clang-format on

#define CUDANALYST_TEXT_OF(name) #name
#define CUDANALYST_TEXT(name) CUDANALYST_TEXT_OF(name)

namespace cudanalyst::executor {

struct Driver {
#define X(name) decltype(&::name) name = nullptr;
  CUDANALYST_DRIVER(X)
#undef X
  // Absent from old drivers.
  decltype(&::cuCtxResetPersistingL2Cache) cuCtxResetPersistingL2Cache = nullptr;
  // The CPU engine's: findings then name what was allocated. Null on a GPU.
  void (*name_allocation)(CUdeviceptr address, const char* name) = nullptr;
};

// The one that `load_driver` filled.
const Driver& driver();
void load_driver(const std::string& path);
// Throws a CudaFailure that names the function unless it succeeded.
void check(CUresult result, const char* function);

// CU(cuMemAlloc, &address, bytes): calls it and checks.
#define CU(function, ...) ::cudanalyst::executor::check(::cudanalyst::executor::driver().function(__VA_ARGS__), CUDANALYST_TEXT(function))

}  // namespace cudanalyst::executor
