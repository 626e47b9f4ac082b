#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "sandbox.hpp"

namespace cudanalyst::sandbox {
namespace {

constexpr int sandbox_failed = 125;

unsigned long number(const char* option, const char* text) {
  char* end = nullptr;
  errno = 0;
  const unsigned long value = std::strtoul(text, &end, 10);
  if (!*text || *end || errno || *text == '-') fail(std::string(option) + " needs a whole number, not " + text);
  return value;
}

Level level(const char* text) {
  if (!std::strcmp(text, "full")) return Level::full;
  if (!std::strcmp(text, "partial")) return Level::partial;
  if (!std::strcmp(text, "none")) return Level::none;
  fail(std::string("--minimum needs full, partial or none, not ") + text);
}

bool yes_or_no(const char* text) {
  if (!std::strcmp(text, "yes")) return true;
  if (!std::strcmp(text, "no")) return false;
  fail(std::string("yes or no is needed, not ") + text);
}

}  // namespace

[[noreturn]] void fail(const std::string& message) {
  const std::string line = "cudanalyst-sandbox: " + message + "\n";
  [[maybe_unused]] auto written = write(2, line.data(), line.size());
  _exit(sandbox_failed);
}

Options parse_options(int argc, char** argv) {
  Options options;
  int at = 1;
  for (; at < argc && std::strcmp(argv[at], "--"); at += 2) {
    const std::string option = argv[at];
    if (at + 1 >= argc) fail(option + " needs a value");
    const char* value = argv[at + 1];
    if (option == "--ro") options.read_only.emplace_back(value);
    else if (option == "--rw") options.read_write.emplace_back(value);
    else if (option == "--dev") options.devices.emplace_back(value);
    else if (option == "--gpu") options.gpu = yes_or_no(value);
    else if (option == "--tools") options.tools = yes_or_no(value);
    else if (option == "--metadata") options.metadata = yes_or_no(value);
    else if (option == "--cpu") options.limits.cpu_seconds = number("--cpu", value);
    else if (option == "--memory") options.limits.memory_bytes = number("--memory", value);
    else if (option == "--data") options.limits.data_bytes = number("--data", value);
    else if (option == "--file-size") options.limits.file_bytes = number("--file-size", value);
    else if (option == "--files") options.limits.open_files = number("--files", value);
    else if (option == "--processes") options.limits.processes = number("--processes", value);
    else if (option == "--minimum") options.minimum = level(value);
    else if (option == "--keep-fd") options.keep_fd = static_cast<int>(number("--keep-fd", value));
    else if (option == "--level-fd") options.level_fd = static_cast<int>(number("--level-fd", value));
    else if (option == "--level-file") options.level_file = value;
    else fail("unknown option " + option);
  }
  if (options.tools && !options.gpu) fail("--tools needs --gpu");
  if (at + 1 >= argc) fail("usage: cudanalyst-sandbox [options] -- command [arguments]");
  options.command = argv + at + 1;
  return options;
}

}  // namespace cudanalyst::sandbox
