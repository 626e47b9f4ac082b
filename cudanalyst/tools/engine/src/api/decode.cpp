// Asks of PTX what of it the engine does not have, without running anything: `cudanalyst_decode`.
#include "../module/module.hpp"
#include "api.hpp"

using namespace cudanalyst;

// Writes one line for each instruction that is not supported (kernel, instruction, file and line, separated by tabs), as many as fit.
// The result is their number, or -1 for a text that is no PTX, with the reason as the only line.
extern "C" __attribute__((visibility("default"))) int cudanalyst_decode(const char* ptx, char* text, size_t room) {
  std::string lines, message;
  int count = 0;
  const auto module = load_ptx(ptx, message);
  if (!module) {
    lines = message;
    count = -1;
  } else {
    for (const auto& kernel : module->kernels) {
      const Program* program = kernel->program();
      if (!program) {
        lines += kernel->info.symbol + "\t" + kernel->error + "\t\t0\n";
        ++count;
        continue;
      }
      for (const auto& u : program->unsupported) {
        lines += kernel->info.symbol + "\t" + u.what + "\t" + u.file + "\t" + std::to_string(u.line) + "\n";
        ++count;
      }
    }
  }
  if (room) {
    const size_t n = std::min(lines.size(), room - 1);
    std::memcpy(text, lines.data(), n);
    text[n] = 0;
  }
  return count;
}
