// Loads PTX and runs one kernel without the runtime API: `core_driver FILE.ptx KERNEL GRID BLOCK SHARED [ARGUMENT]...`
// GRID and BLOCK are X,Y,Z. Arguments: `f:N:START` f32 buffer START, START+1, ...; `u:N:START` u32 buffer; `z:N` zeroed bytes; `n:N` bytes left as they
// are; `i:V` int; `F:V` float; `d:V` double; `l:V` 64-bit. After the launch `error CODE` is printed and, of every buffer, its number and its words.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "../../../cudanalyst/tools/engine/src/engine.hpp"

using namespace cudanalyst;

static Dim3 dim(const char* text) {
  Dim3 d;
  std::sscanf(text, "%u,%u,%u", &d.x, &d.y, &d.z);
  return d;
}

int main(int argc, char** argv) {
  if (argc < 6) return 3;
  std::ifstream file(argv[1], std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  std::string message;
  const auto module = load_ptx(text, message);
  if (!module) {
    std::printf("load failed: %s\n", message.c_str());
    return 2;
  }
  Kernel* kernel = find_kernel(*module, argv[2]);
  if (!kernel) {
    for (const auto& s : kernel_symbols(*module)) std::printf("kernel %s\n", s.c_str());
    return 2;
  }
  struct Buffer {
    uint64_t address;
    size_t words;
  };
  std::vector<Buffer> buffers;
  const KernelInfo& k = info(*kernel);
  std::vector<uint8_t> block;
  for (int a = 6; a < argc; ++a) {
    const char kind = argv[a][0];
    char* end = argv[a] + 1;
    size_t n = 0;
    uint8_t bytes[8] = {};
    if (std::strchr("fuzn", kind)) {
      n = std::strtoull(argv[a] + 2, &end, 0);
      const double start = *end == ':' ? std::strtod(end + 1, nullptr) : 0;
      const size_t size = kind == 'z' || kind == 'n' ? n : 4 * n;
      const uint64_t at = memory::allocate(size, memory::Kind::device);
      const std::string name = "arg" + std::to_string(buffers.size());
      memory::rename(at, name);
      std::vector<uint32_t> words((size + 3) / 4);
      for (size_t w = 0; w < words.size() && kind != 'z'; ++w) {
        const float f = static_cast<float>(start + static_cast<double>(w));
        if (kind == 'f') std::memcpy(&words[w], &f, 4);
        else words[w] = static_cast<uint32_t>(start) + static_cast<uint32_t>(w);
      }
      if (kind != 'n') memory::write(at, words.data(), size);
      buffers.push_back({at, size / 4});
      std::memcpy(bytes, &at, 8);
    } else if (kind == 'i') {
      const int v = static_cast<int>(std::strtol(argv[a] + 2, nullptr, 0));
      std::memcpy(bytes, &v, 4);
    } else if (kind == 'F') {
      const float v = std::strtof(argv[a] + 2, nullptr);
      std::memcpy(bytes, &v, 4);
    } else if (kind == 'd') {
      const double v = std::strtod(argv[a] + 2, nullptr);
      std::memcpy(bytes, &v, 8);
    } else {
      const long long v = std::strtoll(argv[a] + 2, nullptr, 0);
      std::memcpy(bytes, &v, 8);
    }
    const size_t index = static_cast<size_t>(a - 6);
    if (index >= k.parameters.size()) return 3;
    const Parameter p = k.parameters[index];
    block.resize(std::max(block.size(), p.offset + p.bytes));
    std::memcpy(block.data() + p.offset, bytes, std::min<size_t>(p.bytes, 8));
  }
  Launch l;
  l.grid = dim(argv[3]);
  l.block = dim(argv[4]);
  l.dynamic_shared_bytes = std::strtoull(argv[5], nullptr, 0);
  const int repeat = std::getenv("CORE_DRIVER_REPEAT") ? std::atoi(std::getenv("CORE_DRIVER_REPEAT")) : 1;
  Error error = success;
  for (int r = 0; r < repeat; ++r) error = launch(*kernel, l, block.data(), block.size());
  std::printf("error %d\n", error);
  for (size_t b = 0; b < buffers.size(); ++b) {
    std::printf("buffer %zu", b);
    std::vector<uint32_t> words(buffers[b].words);
    memory::read(words.data(), buffers[b].address, words.size() * 4);
    for (const uint32_t w : words) std::printf(" %x", w);
    std::printf("\n");
  }
  finish_report();
  return 0;
}
