// The driver API: devices, modules, libraries, entry points. There is one device.
#include <dlfcn.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <fstream>
#include <iterator>

#include "backend.hpp"
#include "contexts.hpp"
#include "contract.hpp"
#include "device.hpp"
#include "errors.hpp"
#include "modules.hpp"
#include "streams.hpp"

using namespace cudanalyst;

namespace {

template <typename Body>
CUresult plain(Body&& body) {  // needs no context, and a broken one does not stop it
  Guard guard(api_mutex());
  if (!contexts::initialised()) return CUDA_ERROR_NOT_INITIALIZED;
  return driver_error(body());
}

template <typename T>
int give(T* to, T value) {
  return to ? (*to = value, success) : invalid_value;
}

int device_only(CUdevice device) { return device ? static_cast<int>(CUDA_ERROR_INVALID_DEVICE) : 0; }

int load_module(void** handle, const void* data) {
  if (!handle) return invalid_value;
  int error = success;
  Image* image = modules::load(data, error);
  *handle = image;
  return error;
}

// What a program asked to be told of compilation: the problem as the error log, and no other words.
void write_logs(unsigned count, const CUjit_option* options, void** values, const std::string& problem) {
  char* buffer[2] = {};
  void** bytes[2] = {};
  for (unsigned k = 0; k < count; k++) {
    if (options[k] == CU_JIT_INFO_LOG_BUFFER) buffer[0] = static_cast<char*>(values[k]);
    if (options[k] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES) bytes[0] = &values[k];
    if (options[k] == CU_JIT_ERROR_LOG_BUFFER) buffer[1] = static_cast<char*>(values[k]);
    if (options[k] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) bytes[1] = &values[k];
  }
  for (int which = 0; which < 2; which++) {
    if (!bytes[which]) continue;
    const size_t room = reinterpret_cast<size_t>(*bytes[which]);
    const std::string text = which ? problem.substr(0, room ? room - 1 : 0) : "";
    if (buffer[which] && room) std::memcpy(buffer[which], text.c_str(), text.size() + 1);
    *bytes[which] = reinterpret_cast<void*>(text.empty() ? 0 : text.size() + 1);
  }
}

int load_file(void** handle, const char* path) {
  if (!handle || !path) return invalid_value;
  std::ifstream file(path, std::ios::binary);
  if (!file) return cudaErrorFileNotFound;
  // Kept: images refer to the text.
  auto& text = *new std::string(std::istreambuf_iterator<char>(file), {});
  return load_module(handle, text.c_str());
}

int get_function(void** handle, void* image_handle, const char* name) {
  Image* image = modules::find(image_handle);
  if (!image) return CUDA_ERROR_INVALID_HANDLE;
  if (!handle || !name || !*name) return invalid_value;
  int error = success;
  *handle = image->function(name, error);
  return error == invalid_device_function ? static_cast<int>(CUDA_ERROR_NOT_FOUND) : error;
}

int get_global(CUdeviceptr* address, size_t* bytes, void* image_handle, const char* name) {
  Image* image = modules::find(image_handle);
  if (!image) return CUDA_ERROR_INVALID_HANDLE;
  if (!name || (!address && !bytes)) return invalid_value;
  Symbol found;
  if (int error = image->variable(name, found)) {
    int unused = success;
    return image->function(name, unused) ? static_cast<int>(invalid_value) : error;
  }
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

CUDANALYST_API CUresult cuInit(unsigned flags) {
  if (flags) return CUDA_ERROR_INVALID_VALUE;
  contexts::initialise();
  return CUDA_SUCCESS;
}
CUDANALYST_API CUresult cuDriverGetVersion(int* version) { return version ? (*version = CUDA_VERSION, CUDA_SUCCESS) : CUDA_ERROR_INVALID_VALUE; }
CUDANALYST_API CUresult cuDeviceGetCount(int* count) {
  return plain([&] { return give(count, 1); });
}
CUDANALYST_API CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return plain([&]() -> int {
    if (!device) return invalid_value;
    return ordinal ? static_cast<int>(CUDA_ERROR_INVALID_DEVICE) : give(device, 0);
  });
}
CUDANALYST_API CUresult cuDeviceGetName(char* name, int bytes, CUdevice device) {
  return plain([&]() -> int {
    if (int error = device_only(device)) return error;
    if (!name || bytes < 1) return invalid_value;
    std::strncpy(name, device::name().c_str(), static_cast<size_t>(bytes));
    name[bytes - 1] = 0;
    return success;
  });
}
CUDANALYST_API CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return plain([&]() -> int {
    if (int error = device_only(device)) return error;
    if (!uuid) return invalid_value;
    std::memcpy(uuid->bytes, "cudanalyst-cpu-0", sizeof uuid->bytes);
    return success;
  });
}
CUDANALYST_API CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  return plain([&]() -> int {
    if (int error = device_only(device)) return error;
    return give(bytes, backend().total_bytes());
  });
}
CUDANALYST_API CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  return plain([&]() -> int {
    if (int error = device_only(device)) return error;
    if (!major || !minor) return invalid_value;
    *major = device::attribute(cudaDevAttrComputeCapabilityMajor);
    *minor = device::attribute(cudaDevAttrComputeCapabilityMinor);
    return success;
  });
}
CUDANALYST_API CUresult cuDeviceGetProperties(CUdevprop* properties, CUdevice device) {
  return plain([&]() -> int {
    if (int error = device_only(device)) return error;
    if (!properties) return invalid_value;
    properties->maxThreadsPerBlock = device::attribute(cudaDevAttrMaxThreadsPerBlock);
    for (int axis = 0; axis < 3; axis++) {
      properties->maxThreadsDim[axis] = device::attribute(cudaDevAttrMaxBlockDimX + axis);
      properties->maxGridSize[axis] = device::attribute(cudaDevAttrMaxGridDimX + axis);
    }
    properties->sharedMemPerBlock = device::attribute(cudaDevAttrMaxSharedMemoryPerBlock);
    properties->totalConstantMemory = device::attribute(cudaDevAttrTotalConstantMemory);
    properties->SIMDWidth = device::attribute(cudaDevAttrWarpSize);
    properties->memPitch = device::attribute(cudaDevAttrMaxPitch);
    properties->regsPerBlock = device::attribute(cudaDevAttrMaxRegistersPerBlock);
    properties->clockRate = device::attribute(cudaDevAttrClockRate);
    properties->textureAlign = device::attribute(cudaDevAttrTextureAlignment);
    return success;
  });
}
CUDANALYST_API CUresult cuDeviceGetPCIBusId(char* text, int bytes, CUdevice device) {
  return plain([&]() -> int { return cudaDeviceGetPCIBusId(text, bytes, device); });
}
CUDANALYST_API CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* text) {
  return plain([&]() -> int { return cudaDeviceGetByPCIBusId(device, text); });
}
CUDANALYST_API CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute id, CUdevice device) {
  return plain([&]() -> int {
    if (int error = device_only(device)) return error;
    if (!value || !device::has_attribute(id)) return invalid_value;
    *value = device::attribute(id);
    backend().asked("attribute " + std::to_string(id), *value);
    return success;
  });
}
CUDANALYST_API CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return plain([&]() -> int {
    if (device || peer) return CUDA_ERROR_INVALID_DEVICE;
    return give(can, 0);
  });
}
CUDANALYST_API CUresult cuDeviceGetP2PAttribute(int*, CUdevice_P2PAttribute, CUdevice, CUdevice) {
  return plain([]() -> int { return CUDA_ERROR_INVALID_DEVICE; });
}
CUDANALYST_API CUresult cuDeviceGetExecAffinitySupport(int* supported, CUexecAffinityType, CUdevice device) {
  return plain([&]() -> int {
    if (int error = device_only(device)) return error;
    return give(supported, 0);
  });
}

CUDANALYST_API CUresult cuModuleLoadData(CUmodule* module, const void* data) {
  return driver_call([&] { return load_module(reinterpret_cast<void**>(module), data); });
}
CUDANALYST_API CUresult cuModuleLoadDataEx(CUmodule* module, const void* data, unsigned count, CUjit_option* options, void** values) {
  return driver_call([&]() -> int {
    if (count && (!options || !values)) return invalid_value;
    const int error = load_module(reinterpret_cast<void**>(module), data);
    write_logs(count, options, values, error ? modules::last_problem() : "");
    return error;
  });
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
CUDANALYST_API CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  return plain([&] { return give(mode, CU_MODULE_LAZY_LOADING); });
}

namespace {
struct ErrorEntry {
  int code;
  const char *name, *text;
};
constexpr ErrorEntry error_entries[] = {
#include "driver_errors.inc"
};
const ErrorEntry* entry_of(int error) {
  for (const ErrorEntry& known : error_entries)
    if (known.code == error) return &known;
  return nullptr;
}
}  // namespace

CUDANALYST_API CUresult cuGetErrorName(CUresult error, const char** name) {
  if (!name) return CUDA_ERROR_INVALID_VALUE;
  const ErrorEntry* entry = entry_of(error);
  *name = entry ? entry->name : nullptr;
  return entry ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUDANALYST_API CUresult cuGetErrorString(CUresult error, const char** text) {
  if (!text) return CUDA_ERROR_INVALID_VALUE;
  const ErrorEntry* entry = entry_of(error);
  *text = entry ? entry->text : nullptr;
  return entry ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// Private tables of the driver, which NVIDIA's own libraries ask for and do without.
CUDANALYST_API CUresult cuGetExportTable(const void** table, const CUuuid*) {
  return table ? (*table = nullptr, CUDA_ERROR_NOT_FOUND) : CUDA_ERROR_INVALID_VALUE;
}
CUDANALYST_API cudaError_t cudaGetExportTable(const void** table, const cudaUUID_t*) {
  return table ? (*table = nullptr, cudaErrorSymbolNotFound) : cudaErrorInvalidValue;
}

CUDANALYST_API CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version, cuuint64_t flags,
                                            CUdriverProcAddressQueryResult* status) {
  constexpr int first_version = 2000;  // of the driver API as it is
  if (!symbol || !function || flags > (CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM))
    return CUDA_ERROR_INVALID_VALUE;
  *function = nullptr;
  if (version > CUDA_VERSION) {
    if (status) *status = CU_GET_PROC_ADDRESS_SUCCESS;
    return CUDA_ERROR_INVALID_VALUE;
  }
  // Names are without the version that the exported symbols have.
  const std::string name = symbol;
  const bool versioned = name.size() > 3 && name[name.size() - 3] == '_' && name[name.size() - 2] == 'v';
  if (version >= first_version && name.starts_with("cu") && !name.starts_with("cuda") && !versioned)
    for (const char* suffix : {"_v4", "_v3", "_v2", ""})
      if ((*function = own_symbol(name + suffix))) break;
  const auto found = *function                 ? CU_GET_PROC_ADDRESS_SUCCESS
                     : version < first_version ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                               : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  if (status) *status = found;
  return *function || status ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
#undef cuGetProcAddress
CUDANALYST_API CUresult cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t flags) {
  return cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
}

CUDANALYST_API cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version, unsigned long long flags,
                                                            cudaDriverEntryPointQueryResult* status) {
  if (!symbol || !function) return finish(cudaErrorInvalidValue);
  contexts::use_primary();
  CUdriverProcAddressQueryResult found{};
  const CUresult error = cuGetProcAddress_v2(symbol, function, static_cast<int>(version), flags, &found);
  if (status) *status = static_cast<cudaDriverEntryPointQueryResult>(found);  // the two enumerations agree
  return finish(error ? static_cast<int>(error) : found && !status ? static_cast<int>(cudaErrorSymbolNotFound) : success);
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
