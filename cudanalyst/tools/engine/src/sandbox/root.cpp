// A file system of its own: only what the command is given is in it, so that there is no socket of anyone else's to connect to.
// What NVIDIA's tools need of a system comes with it: their processes' /proc, a /tmp, shared memory and a loopback device.
#include <dirent.h>
#include <fcntl.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "sandbox.hpp"

namespace cudanalyst::sandbox {
namespace {

constexpr const char* place = "/tmp";  // it is hidden until the new root takes over
constexpr unsigned long harmless = MS_NOSUID | MS_NODEV | MS_NOEXEC;

constexpr long set_mount_attributes = 442;  // the same on every architecture; older headers lack it
constexpr uint64_t read_only = 1;
struct MountAttributes {
  uint64_t set, clear, propagation, user_namespace;
};

struct Given {
  std::string path;
  int fd;
  bool directory, writable;
};

[[noreturn]] void refuse(const std::string& what) { fail("no file system of its own for the command: " + what + ": " + std::strerror(errno)); }

bool beneath(const std::string& path, const std::string& folder) { return path == folder || path.starts_with(folder + "/"); }

// Opened while their paths still lead to them; folders before what lies in them.
std::vector<Given> open_given(const Options& options) {
  std::vector<Given> given;
  for (const auto* paths : {&options.read_only, &options.devices, &options.read_write})
    for (const std::string& path : *paths) {
      if (beneath(path, "/proc")) continue;  // its own
      const int fd = open(path.c_str(), O_PATH | O_CLOEXEC);
      struct stat about{};
      if (fd < 0 || fstat(fd, &about)) continue;
      given.push_back({path, fd, S_ISDIR(about.st_mode), paths == &options.read_write});
    }
  std::stable_sort(given.begin(), given.end(), [](const Given& a, const Given& b) { return a.path.size() < b.path.size(); });
  return given;
}

void make_folders(const std::string& path) {
  for (size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) mkdir(path.substr(0, at).c_str(), 0755);
}

// What is not to be written is read-only, so that modes and owners cannot be changed either; a device can still be written to.
void bind_given(const std::vector<Given>& given) {
  std::vector<Given> there;
  for (const Given& one : given) {
    const auto holds = [&](const Given& folder) { return beneath(one.path, folder.path) && (folder.writable || !one.writable); };
    if (std::any_of(there.begin(), there.end(), holds)) continue;
    const std::string target = place + one.path;
    make_folders(target);
    if (one.directory) mkdir(target.c_str(), 0755);
    else close(open(target.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    const std::string source = "/proc/self/fd/" + std::to_string(one.fd);
    if (mount(source.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr)) refuse(one.path);
    const MountAttributes attributes{read_only, 0, 0, 0};
    if (!one.writable && syscall(set_mount_attributes, AT_FDCWD, target.c_str(), AT_RECURSIVE, &attributes, sizeof attributes))
      refuse("read-only " + one.path);
    there.push_back(one);
  }
  for (const Given& one : given) close(one.fd);
}

// The tools' processes write names of threads into their own folders there; the rest is the whole system's.
void mount_proc(const std::string& target) {
  mkdir(target.c_str(), 0755);
  if (mount("proc", target.c_str(), "proc", harmless, nullptr)) refuse("/proc");
  DIR* folder = opendir(target.c_str());
  if (!folder) refuse("/proc");
  while (const dirent* entry = readdir(folder)) {
    const std::string name = entry->d_name, path = target + "/" + name;
    if (name[0] == '.' || std::isdigit(static_cast<unsigned char>(name[0])) || entry->d_type == DT_LNK) continue;
    if (mount(path.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) ||
        mount(nullptr, path.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY | harmless, nullptr))
      refuse("/proc/" + name);
  }
  closedir(folder);
}

void start_loopback() {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &request)) refuse("loopback");
  request.ifr_flags |= IFF_UP;
  if (ioctl(fd, SIOCSIFFLAGS, &request)) refuse("loopback");
  close(fd);
}

}  // namespace

void enter_private_root(const Options& options) {
  char* working = getcwd(nullptr, 0);
  if (!working) refuse("working directory");
  const std::vector<Given> given = open_given(options);
  if (mount("tmpfs", place, "tmpfs", MS_NOSUID | MS_NODEV, "size=256m,mode=0755")) refuse(place);
  bind_given(given);
  mount_proc(std::string(place) + "/proc");
  for (const char* folder : {private_temporary, "/dev", shared_memory}) mkdir((std::string(place) + folder).c_str(), 0755);
  if (symlink("/proc/self/fd", (std::string(place) + "/dev/fd").c_str())) refuse("/dev/fd");
  start_loopback();
  if (chdir(place) || syscall(SYS_pivot_root, ".", ".") || umount2(".", MNT_DETACH) || chdir("/") || chdir(working)) refuse("root");
  std::free(working);
}

}  // namespace cudanalyst::sandbox
