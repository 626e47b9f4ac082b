// Libraries of either API. A library is a module here: there is one device that it could be loaded on.
#include <algorithm>
#include <fstream>
#include <iterator>

#include "contexts.hpp"
#include "device.hpp"
#include "modules.hpp"

using namespace cudanalyst;

namespace {

int load(const char* caller, void** handle, const void* data) {
  if (!handle || !data) return invalid_value;
  if (backend().recording())
    return unsupported("function", caller, "device code that is loaded at run time is not in the module that was built from the candidate");
  int error = success;
  *handle = modules::load(data, error, true);
  return error;
}

int load_file(const char* caller, void** handle, const char* path) {
  if (!handle || !path) return invalid_value;
  std::ifstream file(path, std::ios::binary);
  if (!file) return cudaErrorFileNotFound;
  auto& text = *new std::string(std::istreambuf_iterator<char>(file), {});  // kept: images refer to the text
  return load(caller, handle, text.c_str());
}

template <typename Body>
int of_library(const void* handle, Body&& body) {
  Image* image = modules::find(handle);
  if (!image) return cudaErrorInvalidResourceHandle;
  if (int error = image->load()) return error;
  return body(*image);
}

int unload(const void* handle) {
  Image* image = modules::find(handle);
  if (!image) return cudaErrorInvalidResourceHandle;
  modules::unload(image);
  return success;
}

int kernel(void** found, const void* handle, const char* name) {
  return of_library(handle, [&](Image& image) -> int {
    if (!found || !name) return invalid_value;
    int error = success;
    Function* function = image.function(name, error);
    if (!function) return error == invalid_device_function ? static_cast<int>(cudaErrorSymbolNotFound) : error;
    *found = function;
    return success;
  });
}

int count(unsigned* number, const void* handle) {
  return of_library(handle, [&](Image& image) -> int {
    return number ? (*number = static_cast<unsigned>(kernel_symbols(*image.module).size()), success) : invalid_value;
  });
}

int enumerate(void** kernels, unsigned room, const void* handle) {
  return of_library(handle, [&](Image& image) -> int {
    if (!kernels) return invalid_value;
    unsigned filled = 0;
    for (const std::string& symbol : kernel_symbols(*image.module)) {
      if (filled == room) break;
      int error = success;
      kernels[filled] = image.function(symbol, error);
      if (!kernels[filled++]) return error;
    }
    return success;
  });
}

int variable(void** address, size_t* bytes, const void* handle, const char* name, bool managed) {
  return of_library(handle, [&](Image& image) -> int {
    if (!name || (!address && !bytes)) return invalid_value;
    Symbol found;
    if (image.variable(name, found)) return cudaErrorSymbolNotFound;
    const auto held = backend().find(found.address);
    if (managed != (held && held->kind == memory::Kind::managed)) return cudaErrorSymbolNotFound;
    if (address) *address = reinterpret_cast<void*>(found.address);
    if (bytes) *bytes = found.bytes;
    return success;
  });
}

// Libraries are of no context.
template <typename Body>
CUresult of_driver(Body&& body) {
  Guard guard(api_mutex());
  return contexts::initialised() ? driver_error(body()) : CUDA_ERROR_NOT_INITIALIZED;
}

}  // namespace

CUDANALYST_API CUresult cuLibraryLoadData(CUlibrary* library, const void* data, CUjit_option*, void**, unsigned, CUlibraryOption*, void**, unsigned) {
  return of_driver([&] { return load("cuLibraryLoadData", reinterpret_cast<void**>(library), data); });
}
CUDANALYST_API CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option*, void**, unsigned, CUlibraryOption*, void**,
                                              unsigned) {
  return of_driver([&] { return load_file("cuLibraryLoadFromFile", reinterpret_cast<void**>(library), path); });
}
CUDANALYST_API CUresult cuLibraryUnload(CUlibrary library) {
  return of_driver([&] { return unload(library); });
}
CUDANALYST_API CUresult cuLibraryGetKernel(CUkernel* found, CUlibrary library, const char* name) {
  return driver_call([&] { return kernel(reinterpret_cast<void**>(found), library, name); });
}
CUDANALYST_API CUresult cuLibraryGetKernelCount(unsigned* number, CUlibrary library) {
  return driver_call([&] { return count(number, library); });
}
CUDANALYST_API CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned room, CUlibrary library) {
  return driver_call([&] { return enumerate(reinterpret_cast<void**>(kernels), room, library); });
}
CUDANALYST_API CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  return driver_call([&]() -> int {
    if (!module) return invalid_value;
    return of_library(library, [&](Image& image) { return *module = reinterpret_cast<CUmodule>(&image), 0; });
  });
}
CUDANALYST_API CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name) {
  return driver_call([&] { return variable(reinterpret_cast<void**>(address), bytes, library, name, false); });
}
CUDANALYST_API CUresult cuLibraryGetManaged(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name) {
  return driver_call([&] { return variable(reinterpret_cast<void**>(address), bytes, library, name, true); });
}
CUDANALYST_API CUresult cuKernelGetFunction(CUfunction* function, CUkernel found) {
  return driver_call([&]() -> int {
    if (!modules::is_function(found)) return CUDA_ERROR_INVALID_HANDLE;
    return function ? (*function = reinterpret_cast<CUfunction>(found), success) : invalid_value;
  });
}

CUDANALYST_API cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* data, cudaJitOption*, void**, unsigned, cudaLibraryOption*, void**,
                                               unsigned) {
  return runtime_call([&] { return load("cudaLibraryLoadData", reinterpret_cast<void**>(library), data); });
}
CUDANALYST_API cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* library, const char* path, cudaJitOption*, void**, unsigned, cudaLibraryOption*,
                                                   void**, unsigned) {
  return runtime_call([&] { return load_file("cudaLibraryLoadFromFile", reinterpret_cast<void**>(library), path); });
}
CUDANALYST_API cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  return runtime_call([&] { return unload(library); });
}
CUDANALYST_API cudaError_t cudaLibraryGetKernel(cudaKernel_t* found, cudaLibrary_t library, const char* name) {
  return runtime_call([&] { return kernel(reinterpret_cast<void**>(found), library, name); });
}
CUDANALYST_API cudaError_t cudaLibraryGetKernelCount(unsigned* number, cudaLibrary_t library) {
  return runtime_call([&] { return count(number, library); });
}
CUDANALYST_API cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned room, cudaLibrary_t library) {
  return runtime_call([&] { return enumerate(reinterpret_cast<void**>(kernels), room, library); });
}
CUDANALYST_API cudaError_t cudaLibraryGetGlobal(void** address, size_t* bytes, cudaLibrary_t library, const char* name) {
  return runtime_call([&] { return variable(address, bytes, library, name, false); });
}
CUDANALYST_API cudaError_t cudaLibraryGetManaged(void** address, size_t* bytes, cudaLibrary_t library, const char* name) {
  return runtime_call([&] { return variable(address, bytes, library, name, true); });
}
