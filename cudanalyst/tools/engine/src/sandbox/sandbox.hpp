// Confinement of one command. Each layer says whether it holds; the launcher sums that up as a level.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

namespace cudanalyst::sandbox {

struct Limits {  // 0: none
  unsigned long cpu_seconds = 0, memory_bytes = 0, data_bytes = 0, file_bytes = 0, open_files = 0, processes = 0;
};

enum class Level { none, partial, full };

struct Options {
  std::vector<std::string> read_only;   // files and directories: read and execute
  std::vector<std::string> read_write;  // directories: everything but devices
  std::vector<std::string> devices;     // files such as /dev/null: read and write
  bool gpu = false;                     // NVIDIA's driver library listens on a Unix socket of its own, names its threads and has shared memory
  bool tools = false;     // with `gpu`: NVIDIA's tools and what they start speak over sockets; needs a file system and a network of their own
  bool metadata = false;  // may change modes, owners and times of files: linkers do
  Limits limits;
  Level minimum = Level::partial;
  int level_fd = -1;
  int keep_fd = -1;  // the command inherits it
  std::string level_file;
  char** command = nullptr;
};

// Exits with a message when the command line is wrong.
Options parse_options(int argc, char** argv);
[[noreturn]] void fail(const std::string& message);

// Empty when the layer holds in full, else what is missing of it.
struct Layer {
  bool any = false;
  std::string missing;
};
Layer confine_files(const Options& options);  // Landlock; also network and signals where the kernel can
Layer confine_calls(const Options& options);  // seccomp
struct Namespaces {
  bool user = false, processes = false, network = false;
  std::string missing;
};
Namespaces enter_namespaces(bool gpu);  // the caller's children will be in them
constexpr const char* shared_memory = "/dev/shm";
void mount_private_folders(const Options& options);  // by the first process of the new namespaces
bool shared_memory_is_private();
constexpr const char* private_temporary = "/tmp";
void enter_private_root(const Options& options);  // or ends with a message
void prefer_to_be_killed();                       // before others, where memory runs out
void drop_privileges();
void limit_resources(const Limits& limits, bool own_user_namespace);

// Runs `child` (which must exec or exit) under a supervisor, so that nothing it starts survives it or this process; does not return.
[[noreturn]] void supervise(bool process_namespace, const Options& options, void (*child)(void*), void* data);

}  // namespace cudanalyst::sandbox
