// The driver API: devices, contexts, modules. There is one device and one context.
#include <dlfcn.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <fstream>
#include <iterator>

#include "backend.hpp"
#include "contract.hpp"
#include "device.hpp"
#include "errors.hpp"
#include "modules.hpp"
#include "streams.hpp"

using namespace cudanalyst;

namespace {

char context_object, *const context_address = &context_object;
CUcontext the_context() { return reinterpret_cast<CUcontext>(context_address); }
thread_local int context_depth = 0;

template <typename Body>
CUresult plain(Body&& body) {  // what a broken context does not stop
  Guard guard(api_mutex());
  return driver_error(body());
}

int device_only(CUdevice device) { return device ? static_cast<int>(CUDA_ERROR_INVALID_DEVICE) : 0; }

int load_module(void** handle, const void* data) {
  int error = success;
  Image* image = modules::load(data, error);
  *handle = image;
  return error;
}

int load_file(void** handle, const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return cudaErrorFileNotFound;
  // Kept: images refer to the text.
  auto& text = *new std::string(std::istreambuf_iterator<char>(file), {});
  return load_module(handle, text.c_str());
}

int get_function(void** handle, void* image_handle, const char* name) {
  Image* image = modules::find(image_handle);
  if (!image) return CUDA_ERROR_INVALID_HANDLE;
  int error = success;
  *handle = image->function(name, error);
  return error == invalid_device_function ? static_cast<int>(CUDA_ERROR_NOT_FOUND) : error;
}

int get_global(CUdeviceptr* address, size_t* bytes, void* image_handle, const char* name) {
  Image* image = modules::find(image_handle);
  if (!image) return CUDA_ERROR_INVALID_HANDLE;
  Symbol found;
  if (int error = image->variable(name, found)) return error;
  if (address) *address = found.address;
  if (bytes) *bytes = found.bytes;
  return success;
}

int unload(void* handle) {
  Image* image = modules::find(handle);
  if (!image) return CUDA_ERROR_INVALID_HANDLE;
  modules::unload(image);
  return success;
}

void* own_symbol(const std::string& name) {
  static void* self = [] {
    Dl_info about{};
    dladdr(reinterpret_cast<void*>(&cuInit), &about);
    return dlopen(about.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  }();
  return dlsym(self, name.c_str());
}

}  // namespace

CUDANALYST_API CUresult cuInit(unsigned flags) { return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS; }
CUDANALYST_API CUresult cuDriverGetVersion(int* version) { return *version = CUDA_VERSION, CUDA_SUCCESS; }
CUDANALYST_API CUresult cuDeviceGetCount(int* count) { return *count = 1, CUDA_SUCCESS; }
CUDANALYST_API CUresult cuDeviceGet(CUdevice* device, int ordinal) { return ordinal ? CUDA_ERROR_INVALID_DEVICE : (*device = 0, CUDA_SUCCESS); }
CUDANALYST_API CUresult cuDeviceGetName(char* name, int bytes, CUdevice device) {
  return plain([&]() -> int {
    if (int error = device_only(device)) return error;
    if (!name || bytes < 1) return invalid_value;
    std::strncpy(name, device::name().c_str(), static_cast<size_t>(bytes));
    name[bytes - 1] = 0;
    return success;
  });
}
CUDANALYST_API CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice) {
  return std::memcpy(uuid->bytes, "cudanalyst-cpu-0", sizeof uuid->bytes), CUDA_SUCCESS;
}
CUDANALYST_API CUresult cuDeviceTotalMem(size_t* bytes, CUdevice) { return *bytes = backend().total_bytes(), CUDA_SUCCESS; }
CUDANALYST_API CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute id, CUdevice device) {
  return plain([&]() -> int {
    if (int error = device_only(device)) return error;
    if (!value || !device::has_attribute(id)) return invalid_value;
    *value = device::attribute(id);
    backend().asked("attribute " + std::to_string(id), *value);
    return success;
  });
}
CUDANALYST_API CUresult cuDeviceCanAccessPeer(int* can, CUdevice, CUdevice) { return *can = 0, CUDA_SUCCESS; }
CUDANALYST_API CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  return static_cast<CUresult>(cudaDeviceGetDefaultMemPool(pool, device));
}

CUDANALYST_API CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return device ? CUDA_ERROR_INVALID_DEVICE : (*context = the_context(), CUDA_SUCCESS);
}
CUDANALYST_API CUresult cuDevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }
CUDANALYST_API CUresult cuDevicePrimaryCtxSetFlags(CUdevice, unsigned) { return CUDA_SUCCESS; }
CUDANALYST_API CUresult cuDevicePrimaryCtxReset(CUdevice) { return static_cast<CUresult>(cudaDeviceReset()); }
CUDANALYST_API CUresult cuDevicePrimaryCtxGetState(CUdevice, unsigned* flags, int* active) { return *flags = 0, *active = 1, CUDA_SUCCESS; }
CUDANALYST_API CUresult cuCtxCreate(CUcontext* context, CUctxCreateParams*, unsigned, CUdevice device) {
  if (device) return CUDA_ERROR_INVALID_DEVICE;
  context_depth++;
  return *context = the_context(), CUDA_SUCCESS;
}
CUDANALYST_API CUresult cuCtxDestroy(CUcontext) { return context_depth = std::max(0, context_depth - 1), CUDA_SUCCESS; }
CUDANALYST_API CUresult cuCtxPushCurrent(CUcontext) { return context_depth++, CUDA_SUCCESS; }
CUDANALYST_API CUresult cuCtxPopCurrent(CUcontext* context) {
  if (context_depth == 0) return CUDA_ERROR_INVALID_CONTEXT;
  context_depth--;
  if (context) *context = the_context();
  return CUDA_SUCCESS;
}
CUDANALYST_API CUresult cuCtxSetCurrent(CUcontext context) { return context_depth = context ? 1 : 0, CUDA_SUCCESS; }
CUDANALYST_API CUresult cuCtxGetCurrent(CUcontext* context) { return *context = context_depth ? the_context() : nullptr, CUDA_SUCCESS; }
CUDANALYST_API CUresult cuCtxGetDevice(CUdevice* device) { return *device = 0, CUDA_SUCCESS; }
CUDANALYST_API CUresult cuCtxGetFlags(unsigned* flags) { return *flags = 0, CUDA_SUCCESS; }
CUDANALYST_API CUresult cuCtxGetApiVersion(CUcontext, unsigned* version) { return *version = CUDA_VERSION, CUDA_SUCCESS; }
CUDANALYST_API CUresult cuCtxGetLimit(size_t* value, CUlimit limit) { return driver_error(cudaDeviceGetLimit(value, static_cast<cudaLimit>(limit))); }
CUDANALYST_API CUresult cuCtxSetLimit(CUlimit limit, size_t value) { return driver_error(cudaDeviceSetLimit(static_cast<cudaLimit>(limit), value)); }
CUDANALYST_API CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return driver_error(cudaDeviceGetStreamPriorityRange(least, greatest));
}
CUDANALYST_API CUresult cuCtxSynchronize() {
  return driver_call([]() -> int {
    if (int error = contract::host_wait("cuCtxSynchronize")) return error;
    return backend().synchronize();
  });
}

CUDANALYST_API CUresult cuModuleLoadData(CUmodule* module, const void* data) {
  return driver_call([&] { return load_module(reinterpret_cast<void**>(module), data); });
}
CUDANALYST_API CUresult cuModuleLoadDataEx(CUmodule* module, const void* data, unsigned, CUjit_option*, void**) {
  return cuModuleLoadData(module, data);
}
CUDANALYST_API CUresult cuModuleLoadFatBinary(CUmodule* module, const void* data) { return cuModuleLoadData(module, data); }
CUDANALYST_API CUresult cuModuleLoad(CUmodule* module, const char* path) {
  return driver_call([&] { return load_file(reinterpret_cast<void**>(module), path); });
}
CUDANALYST_API CUresult cuModuleUnload(CUmodule module) {
  return driver_call([&] { return unload(module); });
}
CUDANALYST_API CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  return driver_call([&] { return get_function(reinterpret_cast<void**>(function), module, name); });
}
CUDANALYST_API CUresult cuModuleGetGlobal(CUdeviceptr* address, size_t* bytes, CUmodule module, const char* name) {
  return driver_call([&] { return get_global(address, bytes, module, name); });
}
CUDANALYST_API CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) { return *mode = CU_MODULE_LAZY_LOADING, CUDA_SUCCESS; }

// A library is a module here: there is one context that it could be loaded into.
CUDANALYST_API CUresult cuLibraryLoadData(CUlibrary* library, const void* data, CUjit_option*, void**, unsigned, CUlibraryOption*, void**, unsigned) {
  return driver_call([&] { return load_module(reinterpret_cast<void**>(library), data); });
}
CUDANALYST_API CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option*, void**, unsigned, CUlibraryOption*, void**,
                                              unsigned) {
  return driver_call([&] { return load_file(reinterpret_cast<void**>(library), path); });
}
CUDANALYST_API CUresult cuLibraryUnload(CUlibrary library) {
  return driver_call([&] { return unload(library); });
}
CUDANALYST_API CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  return driver_call([&] { return get_function(reinterpret_cast<void**>(kernel), library, name); });
}
CUDANALYST_API CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  return *module = reinterpret_cast<CUmodule>(library), CUDA_SUCCESS;
}
CUDANALYST_API CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name) {
  return driver_call([&] { return get_global(address, bytes, library, name); });
}
CUDANALYST_API CUresult cuLibraryGetManaged(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name) {
  return cuLibraryGetGlobal(address, bytes, library, name);
}
CUDANALYST_API CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  return *function = reinterpret_cast<CUfunction>(kernel), CUDA_SUCCESS;
}

CUDANALYST_API CUresult cuGetErrorName(CUresult error, const char** name) {
  if (!name) return CUDA_ERROR_INVALID_VALUE;
  // Driver and runtime number their errors alike; the driver's names differ, and few are asked for.
  switch (error) {
    case CUDA_SUCCESS: *name = "CUDA_SUCCESS"; break;
    case CUDA_ERROR_INVALID_VALUE: *name = "CUDA_ERROR_INVALID_VALUE"; break;
    case CUDA_ERROR_OUT_OF_MEMORY: *name = "CUDA_ERROR_OUT_OF_MEMORY"; break;
    case CUDA_ERROR_NOT_INITIALIZED: *name = "CUDA_ERROR_NOT_INITIALIZED"; break;
    case CUDA_ERROR_INVALID_DEVICE: *name = "CUDA_ERROR_INVALID_DEVICE"; break;
    case CUDA_ERROR_INVALID_CONTEXT: *name = "CUDA_ERROR_INVALID_CONTEXT"; break;
    case CUDA_ERROR_NO_BINARY_FOR_GPU: *name = "CUDA_ERROR_NO_BINARY_FOR_GPU"; break;
    case CUDA_ERROR_INVALID_PTX: *name = "CUDA_ERROR_INVALID_PTX"; break;
    case CUDA_ERROR_FILE_NOT_FOUND: *name = "CUDA_ERROR_FILE_NOT_FOUND"; break;
    case CUDA_ERROR_INVALID_HANDLE: *name = "CUDA_ERROR_INVALID_HANDLE"; break;
    case CUDA_ERROR_NOT_FOUND: *name = "CUDA_ERROR_NOT_FOUND"; break;
    case CUDA_ERROR_NOT_READY: *name = "CUDA_ERROR_NOT_READY"; break;
    case CUDA_ERROR_ILLEGAL_ADDRESS: *name = "CUDA_ERROR_ILLEGAL_ADDRESS"; break;
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: *name = "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"; break;
    case CUDA_ERROR_LAUNCH_TIMEOUT: *name = "CUDA_ERROR_LAUNCH_TIMEOUT"; break;
    case CUDA_ERROR_ASSERT: *name = "CUDA_ERROR_ASSERT"; break;
    case CUDA_ERROR_ILLEGAL_INSTRUCTION: *name = "CUDA_ERROR_ILLEGAL_INSTRUCTION"; break;
    case CUDA_ERROR_MISALIGNED_ADDRESS: *name = "CUDA_ERROR_MISALIGNED_ADDRESS"; break;
    case CUDA_ERROR_LAUNCH_FAILED: *name = "CUDA_ERROR_LAUNCH_FAILED"; break;
    case CUDA_ERROR_NOT_SUPPORTED: *name = "CUDA_ERROR_NOT_SUPPORTED"; break;
    default: *name = errors::name(error);
  }
  return CUDA_SUCCESS;
}
CUDANALYST_API CUresult cuGetErrorString(CUresult error, const char** text) {
  return text ? (*text = errors::description(error), CUDA_SUCCESS) : CUDA_ERROR_INVALID_VALUE;
}

// Private tables of the driver, which NVIDIA's own libraries ask for and do without.
CUDANALYST_API CUresult cuGetExportTable(const void** table, const CUuuid*) { return *table = nullptr, CUDA_ERROR_NOT_FOUND; }
CUDANALYST_API cudaError_t cudaGetExportTable(const void** table, const cudaUUID_t*) { return *table = nullptr, cudaErrorSymbolNotFound; }

CUDANALYST_API CUresult cuGetProcAddress_v2(const char* symbol, void** function, int, cuuint64_t, CUdriverProcAddressQueryResult* status) {
  *function = nullptr;
  for (const char* version : {"_v4", "_v3", "_v2", ""})
    if ((*function = own_symbol(std::string(symbol) + version))) break;
  if (status) *status = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
#undef cuGetProcAddress
CUDANALYST_API CUresult cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t flags) {
  return cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
}

CUDANALYST_API cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version, unsigned long long flags,
                                                            cudaDriverEntryPointQueryResult* status) {
  CUdriverProcAddressQueryResult found{};
  CUresult error = cuGetProcAddress_v2(symbol, function, static_cast<int>(version), flags, &found);
  if (status) *status = error ? cudaDriverEntryPointSymbolNotFound : cudaDriverEntryPointSuccess;
  return finish(error ? cudaErrorSymbolNotFound : cudaSuccess);
}
CUDANALYST_PER_THREAD(cudaGetDriverEntryPointByVersion, _ptsz);
CUDANALYST_API cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                                   cudaDriverEntryPointQueryResult* status) {
  return cudaGetDriverEntryPointByVersion(symbol, function, CUDA_VERSION, flags, status);
}
// Not by the macro: the type of a deprecated function cannot be named without a warning.
CUDANALYST_API cudaError_t cudaGetDriverEntryPoint_ptsz(const char* symbol, void** function, unsigned long long flags,
                                                        cudaDriverEntryPointQueryResult* status) {
  return cudaGetDriverEntryPointByVersion(symbol, function, CUDA_VERSION, flags, status);
}
