// The CPU engine's driver library with one freedom that NVIDIA's takes: what the legacy stream brings from pageable memory, and what it fills,
// arrives only when somebody waits for the context, or uses the legacy stream again. Streams that do not wait for it find what was there before.
#include <cuda.h>
#include <dlfcn.h>

#include <functional>
#include <vector>

namespace {

std::vector<std::function<CUresult()>>& under_way() {
  static auto& operations = *new std::vector<std::function<CUresult()>>;
  return operations;
}

template <typename Function>
Function* real(Function*, const char* name) {
  static void* library = dlopen(ENGINE_DRIVER, RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Function*>(dlsym(library, name));
}
#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)
#define REAL(name) real(&name, TEXT(name))

CUresult arrive() {
  for (auto& operation : under_way())
    if (CUresult error = operation()) return error;
  under_way().clear();
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) {
  const auto* data = static_cast<const char*>(from);
  under_way().push_back([to, copy = std::vector<char>(data, data + bytes)] { return REAL(cuMemcpyHtoD)(to, copy.data(), copy.size()); });
  return CUDA_SUCCESS;
}

CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t bytes) {
  under_way().push_back([=] { return REAL(cuMemsetD8)(to, value, bytes); });
  return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) {
  const CUresult error = arrive();
  return error ? error : REAL(cuMemcpyDtoH)(to, from, bytes);
}

CUresult cuCtxSynchronize() {
  const CUresult error = arrive();
  return error ? error : REAL(cuCtxSynchronize)();
}

}
