// A process namespace, so that killing its first process kills everything in it; a user namespace, so that no privilege is needed
// for that and none is left; a mount namespace, so that /proc shows only what is inside.
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "sandbox.hpp"

namespace cudanalyst::sandbox {
namespace {

bool write_file(const char* path, const std::string& text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool good = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(fd);
  return good;
}

void limit(__rlimit_resource resource, unsigned long value) {
  rlimit now{};
  getrlimit(resource, &now);
  now.rlim_cur = now.rlim_max = std::min<rlim_t>(value, now.rlim_max);
  if (setrlimit(resource, &now)) fail("a resource limit is refused");
}

bool private_shared_memory = false;

}  // namespace

Namespaces enter_namespaces(bool gpu) {
  const std::string uid = std::to_string(geteuid()), gid = std::to_string(getegid());
  constexpr int wanted = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC;
  // Names of sockets that are no files belong to a network namespace: what a driver library listens on is found by nobody.
  for (const int network : {gpu ? CLONE_NEWNET : 0, 0}) {
    const bool alone = !gpu || network;
    const std::string missing = alone ? "" : "no network namespace, so names of sockets are shared";
    if (unshare(CLONE_NEWUSER | wanted | network) == 0) {
      // One identity, the same inside and out: files keep their owner, and nobody else exists.
      write_file("/proc/self/setgroups", "deny");
      if (!write_file("/proc/self/uid_map", uid + " " + uid + " 1") || !write_file("/proc/self/gid_map", gid + " " + gid + " 1"))
        fail("the user namespace's identity cannot be set");
      return {true, true, alone, missing};
    }
    if (unshare(wanted | network) == 0) return {false, true, alone, missing};
    if (!network) break;
  }
  return {false, false, false, std::string("no process namespace (") + std::strerror(errno) + "), so processes are killed one by one"};
}

void mount_private_folders(const Options& options) {
  const bool own_mounts = !mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  if (options.tools) {
    if (!own_mounts) fail(std::string("no mounts of its own for the command: ") + std::strerror(errno));
    enter_private_root(options);
    private_shared_memory = true;
  }
  if (!own_mounts || options.tools) return;
  // The system's own is shared with every other process: a driver library gets one that ends with it.
  if (options.gpu) private_shared_memory = !mount("tmpfs", shared_memory, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=256m,mode=0700");
  // Landlock hides /proc as well; this is for kernels that lack it.
  if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr)) return;
  // RLIMIT_NPROC does not bind root; from Linux 6.14 a process namespace has a bound of its own, of at least 301.
  if (options.limits.processes) write_file("/proc/sys/kernel/pid_max", std::to_string(std::max(options.limits.processes, 301ul)));
}

bool shared_memory_is_private() { return private_shared_memory; }

void prefer_to_be_killed() { write_file("/proc/self/oom_score_adj", "1000"); }

void drop_privileges() {
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++) prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2]{};
  syscall(SYS_capset, &header, none);
}

void limit_resources(const Limits& limits, bool own_user_namespace) {
  limit(RLIMIT_CORE, 0);
  if (limits.cpu_seconds) limit(RLIMIT_CPU, limits.cpu_seconds);
  if (limits.memory_bytes) limit(RLIMIT_AS, limits.memory_bytes);
  // What is written to, unlike addresses that are only reserved.
  if (limits.data_bytes) limit(RLIMIT_DATA, limits.data_bytes);
  if (limits.file_bytes) limit(RLIMIT_FSIZE, limits.file_bytes);
  if (limits.open_files) limit(RLIMIT_NOFILE, limits.open_files);
  // Elsewhere it would count every process of the user.
  if (limits.processes && own_user_namespace) limit(RLIMIT_NPROC, limits.processes);
}

}  // namespace cudanalyst::sandbox
