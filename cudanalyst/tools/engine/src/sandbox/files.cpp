// Landlock: what of the file system can be reached. Declared here, since headers of older systems lack the newer parts.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "sandbox.hpp"

namespace cudanalyst::sandbox {
namespace {

constexpr long create_ruleset = 444, add_rule = 445, restrict_self = 446;  // the same on every architecture
constexpr uint32_t version_flag = 1, rule_path_beneath = 1;

enum Access : uint64_t {
  execute = 1 << 0,
  write_file = 1 << 1,
  read_file = 1 << 2,
  read_directory = 1 << 3,
  make_character_device = 1 << 6,
  make_block_device = 1 << 11,
  refer = 1 << 13,
  truncate_file = 1 << 14,
  device_ioctl = 1 << 15,
};
constexpr uint64_t for_files = execute | write_file | read_file | truncate_file | device_ioctl;
constexpr uint64_t bind_and_connect = 3, abstract_sockets_and_signals = 3;

struct Ruleset {
  uint64_t files, network, scoped;
};
struct __attribute__((packed)) BeneathRule {
  uint64_t allowed;
  int32_t parent;
};

uint64_t known_access(int abi) {
  const int bits = abi >= 5 ? 16 : abi >= 3 ? 15 : abi >= 2 ? 14 : 13;
  return (uint64_t{1} << bits) - 1;
}

void allow(int ruleset, const std::string& path, uint64_t access, bool needed) {
  const int fd = open(path.c_str(), O_PATH | O_CLOEXEC);
  if (fd < 0) {
    if (!needed && (errno == ENOENT || errno == ENOTDIR || errno == EACCES)) return;  // nothing there to allow
    fail("cannot open " + path + ": " + std::strerror(errno));
  }
  struct stat about{};
  if (fstat(fd, &about)) fail("cannot stat " + path);
  if (!S_ISDIR(about.st_mode)) access &= for_files;
  const BeneathRule rule{access, fd};
  if (syscall(add_rule, ruleset, rule_path_beneath, &rule, 0)) fail("Landlock refuses a rule for " + path + ": " + std::strerror(errno));
  close(fd);
}

}  // namespace

Layer confine_files(const Options& options) {
  const int abi = static_cast<int>(syscall(create_ruleset, nullptr, 0, version_flag));
  if (abi < 1) return {false, "no Landlock in this kernel, so files are not confined"};
  const uint64_t known = known_access(abi);
  // With `tools` the network is a namespace's own.
  const Ruleset attributes{known, abi >= 4 && !options.tools ? bind_and_connect : 0, abi >= 6 ? abstract_sockets_and_signals : 0};
  const size_t bytes = abi >= 6 ? sizeof attributes : abi >= 4 ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
  const int ruleset = static_cast<int>(syscall(create_ruleset, &attributes, bytes, 0));
  if (ruleset < 0) return {false, std::string("Landlock is refused (") + std::strerror(errno) + "), so files are not confined"};
  for (auto& path : options.read_only) allow(ruleset, path, known & (execute | read_file | read_directory), false);
  for (auto& path : options.devices) allow(ruleset, path, known & (read_file | write_file | truncate_file | device_ioctl), false);
  for (auto& path : options.read_write) allow(ruleset, path, known & ~uint64_t{make_character_device | make_block_device}, true);
  if (options.gpu) {
    // Names of threads, which NVIDIA's driver library sets through these files; without them it does not start. They are the command's own.
    allow(ruleset, "/proc/self/task", known & (read_file | read_directory | write_file | truncate_file), false);
    if (shared_memory_is_private()) allow(ruleset, shared_memory, known & ~uint64_t{execute | make_character_device | make_block_device}, false);
  }
  if (options.tools) {
    allow(ruleset, "/proc", known & (read_file | read_directory | write_file | truncate_file), false);
    allow(ruleset, private_temporary, known & ~uint64_t{make_character_device | make_block_device}, false);
  }
  if (syscall(restrict_self, ruleset, 0))
    return {false, std::string("Landlock is refused (") + std::strerror(errno) + "), so files are not confined"};
  close(ruleset);
  return {true, abi >= 3 ? "" : "this kernel's Landlock cannot stop files elsewhere from being truncated"};
}

}  // namespace cudanalyst::sandbox
