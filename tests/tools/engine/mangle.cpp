// Loads damaged copies of a PTX text or a fatbin, and runs what still loads: `mangle FILE FIRST END LOADED RAN`. Prints how many loaded and ran.
// A kernel's fault leaves a context broken for good, so the rest then goes on in a process that takes this one's place.
#include <cuda.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

uint64_t state = 1;
uint64_t random_below(uint64_t n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return n ? (state >> 33) % n : 0;
}

// What a container says of its own length stays: nothing else tells a driver where it ends.
void damage(std::string& data, bool container) {
  const size_t first = container ? 16 : 0;
  const auto somewhere = [&] { return first + random_below(data.size() - first); };
  static const char* const words[] = {"4294967295", "-1", "18446744073709551615", "%r1", ".v4", ".b8", "[", "]", "{", "}", ";", "@%p1", ".reg", "(", "0x7fffffff"};
  for (uint64_t k = 1 + random_below(3); k; --k) {
    const size_t at = somewhere();
    switch (random_below(container ? 2 : 6)) {
      case 0: data[at] = static_cast<char>(random_below(256)); break;
      case 1: data[at] = static_cast<char>(data[at] ^ 1 << random_below(8)); break;
      case 2: data.resize(at + 1); break;
      case 3: data.erase(at, random_below(40)); break;
      case 4: data.insert(at, data, somewhere(), random_below(80)); break;
      default: data.insert(at, words[random_below(sizeof words / sizeof *words)]);
    }
  }
}

}  // namespace

int main(int, char** argv) {
  std::ifstream file(argv[1], std::ios::binary);
  const std::string original((std::istreambuf_iterator<char>(file)), {});
  const bool container = original.substr(0, 4) == "\x50\xed\x55\xba";
  cuInit(0);
  CUcontext context;
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  static uint64_t zeros[512];
  void* parameters[64];
  for (void*& p : parameters) p = zeros;
  int loaded = std::atoi(argv[4]), ran = std::atoi(argv[5]);
  for (int round = std::atoi(argv[2]); round < std::atoi(argv[3]); ++round) {
    std::string data = original;
    state = static_cast<uint64_t>(round) * 0x9e3779b97f4a7c15u;
    if (round) damage(data, container);
    // Exactly as long as it is: a sanitizer sees a step too far.
    char* copy = static_cast<char*>(std::malloc(data.size() + 1));
    std::memcpy(copy, data.c_str(), data.size() + 1);
    CUmodule module;
    if (cuModuleLoadDataEx(&module, copy, 0, nullptr, nullptr) == CUDA_SUCCESS) {
      ++loaded;
      CUfunction functions[8];
      unsigned count = 0;
      cuModuleGetFunctionCount(&count, module);
      if (count > 8) count = 8;
      cuModuleEnumerateFunctions(functions, count, module);
      bool failed = false;
      for (unsigned k = 0; k < count; ++k) {
        int registers;
        cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, functions[k]);
        const bool launched = cuLaunchKernel(functions[k], 2, 1, 1, 64, 1, 1, 256, nullptr, parameters, nullptr) == CUDA_SUCCESS;
        ran += launched;
        failed |= cuCtxSynchronize() != CUDA_SUCCESS;
        if (failed) break;
      }
      if (failed) {
        const std::string next = std::to_string(round + 1), so_far = std::to_string(loaded), runs = std::to_string(ran);
        std::fflush(stdout);
        return ::execl("/proc/self/exe", argv[0], argv[1], next.c_str(), argv[3], so_far.c_str(), runs.c_str(), nullptr);
      }
      cuModuleUnload(module);
    }
    std::free(copy);
  }
  std::printf("%d %d\n", loaded, ran);
}
