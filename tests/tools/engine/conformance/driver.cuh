// The driver API: initialisation, contexts, devices, modules and what is found in them.
#pragma once
#include "answers.cuh"

static const char scale_ptx[] = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 factor = 3;
.visible .const .align 4 .b8 numbers[64];
.visible .entry scale(.param .u64 p) {
  .reg .b64 %rd<4>;
  .reg .b32 %r<4>;
  ld.param.u64 %rd1, [p];
  cvta.to.global.u64 %rd2, %rd1;
  ld.global.u32 %r1, [%rd2];
  ld.global.u32 %r2, [factor];
  mul.lo.s32 %r3, %r1, %r2;
  st.global.u32 [%rd2], %r3;
  ret;
}
.visible .entry two(.param .u32 a, .param .align 16 .b8 b[32]) { ret; }
)";

static CUcontext ready() {
  CUcontext context = nullptr;
  cuInit(0);
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  return context;
}

CASE(driver_before_init) {
  int n = 99;
  CUdevice device = 99;
  CUcontext context = nullptr;
  CUdeviceptr p = 0;
  CUmodule module = nullptr;
  CUstream stream = nullptr;
  const char* name = nullptr;
  DRIVER(cuDriverGetVersion(&n));
  DRIVER(cuGetErrorName(CUDA_ERROR_NOT_INITIALIZED, &name));
  TEXT(name);
  DRIVER(cuDeviceGetCount(&n));
  DRIVER(cuDeviceGet(&device, 0));
  DRIVER(cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
  DRIVER(cuDevicePrimaryCtxRetain(&context, 0));
  DRIVER(cuCtxGetCurrent(&context));
  DRIVER(cuMemAlloc(&p, 4));
  DRIVER(cuModuleLoadData(&module, scale_ptx));
  DRIVER(cuStreamCreate(&stream, 0));
  DRIVER(cuCtxSynchronize());
  DRIVER(cuInit(1));
  DRIVER(cuInit(0));
  DRIVER(cuInit(0));
  DRIVER(cuDeviceGet(&device, 0));
}

CASE(driver_without_context) {
  int n = 99;
  CUdevice device = 99;
  CUcontext context = nullptr;
  CUdeviceptr p = 0;
  CUmodule module = nullptr;
  CUlibrary library = nullptr;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  size_t bytes = 0, total = 0;
  unsigned flags = 99;
  void* host = nullptr;
  DRIVER(cuInit(0));
  DRIVER(cuCtxGetCurrent(&context));
  SHOW(context == nullptr);
  DRIVER(cuCtxGetDevice(&device));
  DRIVER(cuCtxGetFlags(&flags));
  DRIVER(cuCtxGetApiVersion(nullptr, &flags));
  DRIVER(cuCtxSynchronize());
  DRIVER(cuCtxPopCurrent(&context));
  DRIVER(cuCtxGetLimit(&bytes, CU_LIMIT_STACK_SIZE));
  DRIVER(cuMemAlloc(&p, 4));
  DRIVER(cuMemFree(0));
  DRIVER(cuMemHostAlloc(&host, 4, 0));
  DRIVER(cuMemGetInfo(&bytes, &total));
  DRIVER(cuMemsetD8(0, 0, 4));
  DRIVER(cuMemcpyHtoD(0, &n, 4));
  DRIVER(cuModuleLoadData(&module, scale_ptx));
  DRIVER(cuLibraryLoadData(&library, scale_ptx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  DRIVER(cuStreamCreate(&stream, 0));
  DRIVER(cuStreamSynchronize(nullptr));
  DRIVER(cuEventCreate(&event, 0));
  DRIVER(cuDevicePrimaryCtxGetState(0, &flags, &n));
  SHOW(flags);
  SHOW(n);
  DRIVER(cudaFree(nullptr));
  DRIVER(cuCtxGetCurrent(&context));
  SHOW(context != nullptr);
  DRIVER(cuDevicePrimaryCtxGetState(0, &flags, &n));
  SHOW(n);
  DRIVER(cuMemAlloc(&p, 4));
  std::thread([] {
    CUcontext context = nullptr;
    CUdeviceptr p = 0;
    DRIVER(cuCtxGetCurrent(&context));
    SHOW(context == nullptr);
    DRIVER(cuMemAlloc(&p, 4));
    DRIVER(cudaSetDevice(0));
    DRIVER(cuCtxGetCurrent(&context));
    SHOW(context != nullptr);
    DRIVER(cuMemAlloc(&p, 4));
  }).join();
}

CASE(contexts) {
  CUcontext primary = nullptr, made = nullptr, other = nullptr, current = nullptr;
  CUdevice device = 99;
  unsigned flags = 99, version = 0;
  int active = 99;
  unsigned long long id = 0;
  DRIVER(cuInit(0));
  DRIVER(cuDevicePrimaryCtxRetain(&primary, 0));
  DRIVER(cuDevicePrimaryCtxRetain(&primary, 99));
  DRIVER(cuCtxGetCurrent(&current));
  SHOW(current == nullptr);
  DRIVER(cuCtxSetCurrent(primary));
  DRIVER(cuCtxGetCurrent(&current));
  SHOW(current == primary);
  DRIVER(cuCtxGetDevice(&device));
  SHOW(device);
  DRIVER(cuCtxGetFlags(&flags));
  SHOW(flags);
  DRIVER(cuCtxGetApiVersion(primary, &version));
  SHOW(version);
  DRIVER(cuCtxGetId(primary, &id));
  DRIVER(cuCtxGetId(nullptr, &id));
  DRIVER(cuCtxCreate(&made, nullptr, 0, 0));
  DRIVER(cuCtxGetCurrent(&current));
  SHOW(current == made);
  SHOW(made != primary);
  DRIVER(cuCtxGetApiVersion(made, &version));
  DRIVER(cuCtxCreate(&other, nullptr, CU_CTX_SCHED_BLOCKING_SYNC, 0));
  DRIVER(cuCtxGetFlags(&flags));
  SHOW(flags);
  DRIVER(cuCtxPopCurrent(&current));
  SHOW(current == other);
  DRIVER(cuCtxGetCurrent(&current));
  SHOW(current == made);
  DRIVER(cuCtxPushCurrent(other));
  DRIVER(cuCtxGetCurrent(&current));
  SHOW(current == other);
  DRIVER(cuCtxDestroy(other));
  DRIVER(cuCtxGetCurrent(&current));
  SHOW(current == made);
  SHOW(current == primary);
  SHOW(current == nullptr);
  DRIVER(cuCtxPushCurrent(nullptr));
  DRIVER(cuCtxSetCurrent(nullptr));
  DRIVER(cuCtxGetCurrent(&current));
  SHOW(current == nullptr);
  SHOW(current == primary);
  DRIVER(cuCtxDestroy(nullptr));
  DRIVER(cuCtxDestroy(made));
  DRIVER(cuCtxCreate(&made, nullptr, 0, 99));
  DRIVER(cuCtxCreate(&made, nullptr, 0xffff0000, 0));
  DRIVER(cuCtxCreate(nullptr, nullptr, 0, 0));
  DRIVER(cuDevicePrimaryCtxGetState(0, &flags, &active));
  SHOW(active);
  DRIVER(cuDevicePrimaryCtxRelease(0));
  DRIVER(cuDevicePrimaryCtxGetState(0, &flags, &active));
  SHOW(active);
  DRIVER(cuDevicePrimaryCtxRelease(0));
  DRIVER(cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_SPIN));
  DRIVER(cuDevicePrimaryCtxGetState(0, &flags, &active));
  SHOW(flags);
  DRIVER(cuDevicePrimaryCtxSetFlags(0, 0xffff0000));
  DRIVER(cuDevicePrimaryCtxReset(0));
}
CASE(primary_context_cannot_be_destroyed) {
  CUcontext context = ready();
  DRIVER(cuCtxDestroy(context));
}

CASE(driver_devices) {
  ready();
  int n = 99, minor = 99;
  CUdevice device = 99;
  char name[256] = "";
  size_t bytes = 0;
  CUuuid uuid;
  DRIVER(cuDeviceGet(&device, 0));
  DRIVER(cuDeviceGet(&device, -1));
  DRIVER(cuDeviceGet(&device, 99));
  DRIVER(cuDeviceGet(nullptr, 0));
  DRIVER(cuDeviceGetCount(nullptr));
  DRIVER(cuDriverGetVersion(nullptr));
  DRIVER(cuDeviceGetName(name, 256, 0));
  SHOW(std::strlen(name) > 3);
  DRIVER(cuDeviceGetName(name, 4, 0));
  SHOW(std::strlen(name));
  DRIVER(cuDeviceGetName(nullptr, 256, 0));
  DRIVER(cuDeviceGetName(name, 0, 0));
  DRIVER(cuDeviceGetName(name, 256, 99));
  DRIVER(cuDeviceTotalMem(&bytes, 0));
  DRIVER(cuDeviceTotalMem(&bytes, 99));
  DRIVER(cuDeviceTotalMem(nullptr, 0));
  DRIVER(cuDeviceGetUuid(&uuid, 0));
  DRIVER(cuDeviceGetUuid(&uuid, 99));
  DRIVER(cuDeviceGetUuid(nullptr, 0));
  DRIVER(cuDeviceComputeCapability(&n, &minor, 0));
  SHOW(n * 10 + minor);
  DRIVER(cuDeviceGetAttribute(&n, static_cast<CUdevice_attribute>(0), 0));
  DRIVER(cuDeviceGetAttribute(&n, static_cast<CUdevice_attribute>(5000), 0));
  DRIVER(cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 99));
  DRIVER(cuDeviceGetAttribute(nullptr, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
  for (int id = 1; id < 150; id++) {
    if (id == 33 || id == 34 || id == 50 || id == 130 || id == 134 || id == 139 || id == 140) continue;  // where the card is plugged in
    n = 99;
    const int code = cuDeviceGetAttribute(&n, static_cast<CUdevice_attribute>(id), 0);
    std::printf("attribute %d: %d, %d\n", id, code, n);
  }
  CUdevprop p;
  DRIVER(cuDeviceGetProperties(&p, 0));
  SHOW(p.maxThreadsPerBlock);
  SHOW(p.sharedMemPerBlock);
  SHOW(p.totalConstantMemory);
  SHOW(p.SIMDWidth);
  SHOW(p.regsPerBlock);
  DRIVER(cuDeviceCanAccessPeer(&n, 0, 0));
  DRIVER(cuDeviceCanAccessPeer(&n, 0, 99));
  DRIVER(cuDeviceGetPCIBusId(name, 64, 0));
  DRIVER(cuDeviceGetByPCIBusId(&device, name));
  SHOW(device);
  DRIVER(cuDeviceGetExecAffinitySupport(&n, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0));
  DRIVER(cuDeviceGetP2PAttribute(&n, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 0));
  DRIVER(cuDeviceGetTexture1DLinearMaxWidth(&bytes, CU_AD_FORMAT_FLOAT, 1, 0));
  SHOW(bytes);
}

CASE(modules) {
  ready();
  CUmodule module = nullptr, again = nullptr;
  CUfunction function = nullptr, same = nullptr;
  CUdeviceptr address = 0;
  size_t bytes = 99;
  DRIVER(cuModuleLoadData(&module, scale_ptx));
  DRIVER(cuModuleLoadData(&again, scale_ptx));
  SHOW(module != again);
  DRIVER(cuModuleGetFunction(&function, module, "scale"));
  DRIVER(cuModuleGetFunction(&same, module, "scale"));
  SHOW(function == same);
  DRIVER(cuModuleGetFunction(&same, module, "missing"));
  DRIVER(cuModuleGetFunction(&same, module, ""));
  DRIVER(cuModuleGetFunction(&same, module, "factor"));
  DRIVER(cuModuleGetFunction(nullptr, module, "scale"));
  DRIVER(cuModuleGetFunction(&same, module, nullptr));
  DRIVER(cuModuleGetFunction(&same, nullptr, "scale"));
  DRIVER(cuModuleGetGlobal(&address, &bytes, module, "factor"));
  SHOW(bytes);
  DRIVER(cuModuleGetGlobal(nullptr, &bytes, module, "numbers"));
  SHOW(bytes);
  DRIVER(cuModuleGetGlobal(&address, nullptr, module, "factor"));
  DRIVER(cuModuleGetGlobal(nullptr, nullptr, module, "factor"));
  DRIVER(cuModuleGetGlobal(&address, &bytes, module, "missing"));
  DRIVER(cuModuleGetGlobal(&address, &bytes, module, "scale"));
  DRIVER(cuModuleGetGlobal(&address, &bytes, module, nullptr));
  unsigned count = 99;
  DRIVER(cuModuleGetFunctionCount(&count, module));
  SHOW(count);
  CUfunction all[2] = {};
  DRIVER(cuModuleEnumerateFunctions(all, 2, module));
  CUmodule of = nullptr;
  DRIVER(cuFuncGetModule(&of, function));
  SHOW(of == module);
  const char* name = nullptr;
  DRIVER(cuFuncGetName(&name, function));
  TEXT(name);
  CUmoduleLoadingMode mode;
  DRIVER(cuModuleGetLoadingMode(&mode));
  DRIVER(cuModuleLoadData(&again, "no ptx"));
  DRIVER(cuModuleLoadData(&again, ""));
  DRIVER(cuModuleLoadData(&again, nullptr));
  DRIVER(cuModuleLoadData(nullptr, scale_ptx));
  DRIVER(cuModuleLoadData(&again, ".version 8.0\n.target sm_100\n.address_size 64\n"));
  DRIVER(cuModuleLoadData(&again, ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { broken; }"));
  DRIVER(cuModuleLoadData(&again, ".version 99.0\n.target sm_90\n.address_size 64\n"));
  DRIVER(cuModuleLoadData(&again, ".version 8.0\n.target sm_90\n.address_size 64\n.extern .func f();\n.visible .entry k() { call f, (); ret; }"));
  DRIVER(cuModuleLoad(&again, "/no/such/file"));
  DRIVER(cuModuleLoadFatBinary(&again, nullptr));
  DRIVER(cuModuleUnload(module));
  DRIVER(cuModuleUnload(nullptr));
}

CASE(module_options) {
  ready();
  CUmodule module = nullptr;
  char log[4096] = "", errors[4096] = "";
  CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                            CU_JIT_MAX_REGISTERS, CU_JIT_OPTIMIZATION_LEVEL};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log), errors, reinterpret_cast<void*>(sizeof errors), reinterpret_cast<void*>(32),
                    reinterpret_cast<void*>(4)};
  DRIVER(cuModuleLoadDataEx(&module, scale_ptx, 6, options, values));
  SHOW(std::strlen(errors));
  values[1] = reinterpret_cast<void*>(sizeof log);
  values[3] = reinterpret_cast<void*>(sizeof errors);
  DRIVER(cuModuleLoadDataEx(&module, ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { broken; }", 6, options, values));
  SHOW(std::strlen(errors) > 10);
  SHOW(std::strstr(errors, "line 4") != nullptr);
  SHOW(reinterpret_cast<size_t>(values[3]) > 10);
  DRIVER(cuModuleLoadDataEx(&module, scale_ptx, 0, nullptr, nullptr));
}

CASE(libraries) {
  ready();
  CUlibrary library = nullptr, of = nullptr;
  CUkernel kernel = nullptr, missing = nullptr, all[2] = {};
  CUfunction function = nullptr;
  CUmodule module = nullptr;
  CUdeviceptr address = 0;
  size_t bytes = 99, offset = 99;
  unsigned count = 99;
  int value = 99;
  const char* name = nullptr;
  DRIVER(cuLibraryLoadData(&library, scale_ptx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  DRIVER(cuLibraryGetKernel(&kernel, library, "scale"));
  DRIVER(cuLibraryGetKernel(&missing, library, "missing"));
  DRIVER(cuLibraryGetKernelCount(&count, library));
  SHOW(count);
  DRIVER(cuLibraryEnumerateKernels(all, 2, library));
  DRIVER(cuKernelGetName(&name, kernel));
  TEXT(name);
  DRIVER(cuKernelGetLibrary(&of, kernel));
  SHOW(of == library);
  DRIVER(cuKernelGetFunction(&function, kernel));
  DRIVER(cuKernelGetParamInfo(kernel, 0, &offset, &bytes));
  SHOW(bytes);
  DRIVER(cuKernelGetParamInfo(kernel, 1, &offset, &bytes));
  DRIVER(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel, 0));
  SHOW(value);
  DRIVER(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel, 99));
  DRIVER(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000, kernel, 0));
  DRIVER(cuKernelSetCacheConfig(kernel, CU_FUNC_CACHE_PREFER_L1, 0));
  DRIVER(cuLibraryGetModule(&module, library));
  DRIVER(cuLibraryGetGlobal(&address, &bytes, library, "factor"));
  SHOW(bytes);
  DRIVER(cuLibraryGetGlobal(&address, &bytes, library, "missing"));
  DRIVER(cuLibraryGetManaged(&address, &bytes, library, "factor"));
  DRIVER(cuFuncLoad(function));
  CUfunctionLoadingState state;
  DRIVER(cuFuncIsLoaded(&state, function));
  SHOW(state);
  int* p = device_array<int>();
  void* arguments[] = {&p};
  DRIVER(cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
  DRIVER(cuCtxSynchronize());
  DRIVER(cuLibraryLoadData(&library, "no ptx", nullptr, nullptr, 0, nullptr, nullptr, 0));
  DRIVER(cuLibraryLoadFromFile(&library, "/no/such/file", nullptr, nullptr, 0, nullptr, nullptr, 0));
  DRIVER(cuLibraryUnload(library));
  cudaLibrary_t loaded = nullptr;
  cudaKernel_t found = nullptr;
  void* at = nullptr;
  CALL(cudaLibraryLoadData(&loaded, scale_ptx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  CALL(cudaLibraryGetKernel(&found, loaded, "scale"));
  CALL(cudaLibraryGetKernel(&found, loaded, "missing"));
  CALL(cudaLibraryGetKernelCount(&count, loaded));
  CALL(cudaLibraryEnumerateKernels(&found, 1, loaded));
  CALL(cudaLibraryGetGlobal(&at, &bytes, loaded, "factor"));
  CALL(cudaLibraryGetGlobal(&at, &bytes, loaded, "missing"));
  CALL(cudaLibraryLoadData(&loaded, "no ptx", nullptr, nullptr, 0, nullptr, nullptr, 0));
  CALL(cudaLibraryLoadFromFile(&loaded, "/no/such/file", nullptr, nullptr, 0, nullptr, nullptr, 0));
  CALL(cudaLibraryUnload(loaded));
}

CASE(linking) {
  ready();
  CUlinkState state = nullptr;
  void* image = nullptr;
  size_t bytes = 0;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  static char caller[] = ".version 8.0\n.target sm_90\n.address_size 64\n.extern .func (.param .b32 r) twice(.param .b32 x);\n"
                         ".visible .entry k(.param .u64 p) {\n .reg .b64 %d<3>;\n .reg .b32 %r<3>;\n ld.param.u64 %d1, [p];\n"
                         " cvta.to.global.u64 %d2, %d1;\n ld.global.u32 %r1, [%d2];\n {\n .param .b32 a;\n .param .b32 b;\n st.param.b32 [a], %r1;\n"
                         " call.uni (b), twice, (a);\n ld.param.b32 %r2, [b];\n }\n st.global.u32 [%d2], %r2;\n ret;\n}\n";
  static char callee[] = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .func (.param .b32 r) twice(.param .b32 x) {\n .reg .b32 %r<3>;\n"
                         " ld.param.b32 %r1, [x];\n add.s32 %r2, %r1, %r1;\n st.param.b32 [r], %r2;\n ret;\n}\n";
  DRIVER(cuLinkCreate(0, nullptr, nullptr, &state));
  DRIVER(cuLinkAddData(state, CU_JIT_INPUT_PTX, caller, sizeof caller, "caller", 0, nullptr, nullptr));
  DRIVER(cuLinkAddData(state, CU_JIT_INPUT_PTX, callee, sizeof callee, "callee", 0, nullptr, nullptr));
  DRIVER(cuLinkComplete(state, &image, &bytes));
  SHOW(bytes > 0);
  DRIVER(cuModuleLoadData(&module, image));
  DRIVER(cuModuleGetFunction(&function, module, "k"));
  DRIVER(cuLinkDestroy(state));
  int *p = device_array<int>(), h = 21;
  cudaMemcpy(p, &h, 4, cudaMemcpyHostToDevice);
  void* arguments[] = {&p};
  DRIVER(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
  DRIVER(cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost));
  SHOW(h);
  DRIVER(cuLinkCreate(0, nullptr, nullptr, &state));
  DRIVER(cuLinkAddData(state, CU_JIT_INPUT_PTX, caller, sizeof caller, "caller", 0, nullptr, nullptr));
  DRIVER(cuLinkComplete(state, &image, &bytes));
  DRIVER(cuLinkDestroy(state));
  DRIVER(cuLinkCreate(0, nullptr, nullptr, &state));
  DRIVER(cuLinkAddData(state, CU_JIT_INPUT_PTX, const_cast<char*>("no ptx"), 7, "none", 0, nullptr, nullptr));
  DRIVER(cuLinkAddFile(state, CU_JIT_INPUT_PTX, "/no/such/file", 0, nullptr, nullptr));
  DRIVER(cuLinkDestroy(state));
}

CASE(entry_points) {
  ready();
  void* found = nullptr;
  CUdriverProcAddressQueryResult status;
  for (const char* name : {"cuMemAlloc", "cuMemAlloc_v2", "cuInit", "cuLaunchKernel", "cuCtxCreate", "noSuchFunction", "", "cudaMalloc"}) {
    found = &found;
    status = static_cast<CUdriverProcAddressQueryResult>(99);
    const int code = cuGetProcAddress(name, &found, 13000, CU_GET_PROC_ADDRESS_DEFAULT, &status);
    std::printf("%s: %d, found %d, status %d\n", name, code, found != nullptr && found != &found, status);
  }
  for (int version : {0, 1000, 3010, 3020, 12000, 13000, 99000}) {
    found = nullptr;
    const int code = cuGetProcAddress("cuMemAlloc", &found, version, CU_GET_PROC_ADDRESS_DEFAULT, &status);
    std::printf("version %d: %d, found %d, status %d\n", version, code, found != nullptr, status);
  }
  DRIVER(cuGetProcAddress("cuInit", nullptr, 13000, 0, &status));
  DRIVER(cuGetProcAddress(nullptr, &found, 13000, 0, &status));
  DRIVER(cuGetProcAddress("cuInit", &found, 13000, 77, &status));
  cudaDriverEntryPointQueryResult result;
  CALL(cudaGetDriverEntryPointByVersion("cuMemAlloc", &found, 13000, cudaEnableDefault, &result));
  SHOW(result);
  CALL(cudaGetDriverEntryPointByVersion("noSuchFunction", &found, 13000, cudaEnableDefault, &result));
  SHOW(result);
  CALL(cudaGetDriverEntryPointByVersion("cuMemAlloc", nullptr, 13000, cudaEnableDefault, &result));
}
