// cuLink*: PTX put together at run time. What it makes is PTX again, which the modules load.
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>

#include "device.hpp"
#include "modules.hpp"

using namespace cudanalyst;

namespace {

struct Linker {
  std::vector<std::string> texts;
  std::string linked;
};

std::map<CUlinkState, std::unique_ptr<Linker>>& linkers() {
  static auto& instance = *new std::map<CUlinkState, std::unique_ptr<Linker>>;
  return instance;
}

template <typename Body>
CUresult of_linker(CUlinkState state, Body&& body) {
  return driver_call([&]() -> int {
    auto at = linkers().find(state);
    return at == linkers().end() ? static_cast<int>(CUDA_ERROR_INVALID_HANDLE) : body(*at->second);
  });
}

int add(Linker& linker, CUjitInputType type, const void* data, size_t bytes) {
  if (!data || !bytes) return invalid_value;
  switch (type) {
    case CU_JIT_INPUT_PTX: {
      const std::string_view text(static_cast<const char*>(data), bytes);
      linker.texts.emplace_back(text.substr(0, text.find('\0')));
      std::string message;
      if (load_ptx(linker.texts.back(), message) || message.find("another module") != std::string::npos) return success;
      linker.texts.pop_back();
      return cudaErrorInvalidKernelImage;
    }
    case CU_JIT_INPUT_FATBINARY: {
      if (!fatbin::is_fatbin(data)) return invalid_value;
      const fatbin::Contents contents = fatbin::read(data, device::architecture());
      if (contents.ptx.empty()) return unsupported("module", "device code", contents.problem.c_str()), cudaErrorNoKernelImageForDevice;
      linker.texts.emplace_back(contents.ptx);
      return success;
    }
    default:
      return unsupported("function", "cuLinkAddData of machine code, objects or libraries",
                         "the CPU engine links PTX; add the PTX (CU_JIT_INPUT_PTX)");
  }
}

int complete(Linker& linker, void** image, size_t* bytes) {
  if (!image) return invalid_value;
  std::string message;
  linker.linked = link_ptx({linker.texts.begin(), linker.texts.end()});
  const auto module = load_ptx(linker.linked, message);
  if (!module || !undefined_functions(*module).empty()) return CUDA_ERROR_INVALID_SOURCE;  // as an H200's linker says
  *image = linker.linked.data();
  if (bytes) *bytes = linker.linked.size();
  return success;
}

}  // namespace

CUDANALYST_API CUresult cuLinkCreate(unsigned, CUjit_option*, void**, CUlinkState* state) {
  return driver_call([&]() -> int {
    if (!state) return invalid_value;
    auto made = std::make_unique<Linker>();
    *state = reinterpret_cast<CUlinkState>(made.get());
    linkers()[*state] = std::move(made);
    return success;
  });
}
CUDANALYST_API CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void* data, size_t bytes, const char*, unsigned, CUjit_option*,
                                      void**) {
  return of_linker(state, [&](Linker& linker) { return add(linker, type, data, bytes); });
}
CUDANALYST_API CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char* path, unsigned, CUjit_option*, void**) {
  return of_linker(state, [&](Linker& linker) -> int {
    if (!path) return invalid_value;
    std::ifstream file(path, std::ios::binary);
    if (!file) return cudaErrorFileNotFound;
    const std::string text(std::istreambuf_iterator<char>(file), {});
    return add(linker, type, text.data(), text.size());
  });
}
CUDANALYST_API CUresult cuLinkComplete(CUlinkState state, void** image, size_t* bytes) {
  return of_linker(state, [&](Linker& linker) { return complete(linker, image, bytes); });
}
CUDANALYST_API CUresult cuLinkDestroy(CUlinkState state) {
  return of_linker(state, [&](Linker&) -> int { return linkers().erase(state), success; });
}
