// seccomp: system calls that no compiler and no kernel's host code needs. They fail with EPERM.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "sandbox.hpp"

namespace cudanalyst::sandbox {
namespace {

#if defined(__x86_64__)
constexpr uint32_t architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t architecture = AUDIT_ARCH_AARCH64;
#else
#error "the sandbox knows x86-64 and arm64"
#endif

// Numbers above 423 are the same on every architecture; older headers lack some of them.
constexpr uint32_t denied[] = {
    // other processes
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kcmp,
    434 /* pidfd_open */,
    438 /* pidfd_getfd */,
    440 /* process_madvise */,
    448 /* process_mrelease */,
    // wide kernel interfaces
    SYS_bpf,
    SYS_userfaultfd,
    SYS_perf_event_open,
    425 /* io_uring_setup */,
    426 /* io_uring_enter */,
    427 /* io_uring_register */,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_fanotify_init,
    SYS_lookup_dcookie,
    SYS_name_to_handle_at,
    SYS_open_by_handle_at,
    SYS_quotactl,
    443 /* quotactl_fd */,
    SYS_acct,
    SYS_syslog,
    SYS_vhangup,
    // the system's shape
    SYS_unshare,
    SYS_setns,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    428 /* open_tree */,
    429 /* move_mount */,
    430 /* fsopen */,
    431 /* fsconfig */,
    432 /* fsmount */,
    433 /* fspick */,
    442 /* mount_setattr */,
    SYS_swapon,
    SYS_swapoff,
    SYS_reboot,
    SYS_kexec_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
#if defined(__x86_64__)
    SYS_iopl,
    SYS_ioperm,
    SYS_modify_ldt,
    SYS_uselib,
    SYS_ustat,
#endif
};
// A driver library for a GPU opens a Unix socket and listens on it. That reaches nobody as long as nothing can be connected, nor sent without.
constexpr uint32_t of_sockets[] = {SYS_bind, SYS_listen, SYS_accept, SYS_accept4};
// What processes that know no common file share by names and numbers; with `tools` these belong to a namespace of the command's own.
constexpr uint32_t of_shared_names[] = {SYS_mq_open, SYS_mq_unlink, SYS_msgget, SYS_semget, SYS_shmget, SYS_shmat};
// Modes, owners, times and attributes of files: Landlock does not cover them, so any file of the user's could be changed or made unreadable.
constexpr uint32_t of_metadata[] = {
    SYS_fchmod,
    SYS_fchmodat,
    452 /* fchmodat2 */,
    SYS_fchown,
    SYS_fchownat,
    SYS_utimensat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_fremovexattr,
    463 /* setxattrat */,
    466 /* removexattrat */,
    469 /* file_setattr */,
#if defined(__x86_64__)
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
    SYS_utime,
    SYS_utimes,
    SYS_futimesat,
#endif
};
constexpr uint32_t call_clone3 = 435;
constexpr uint32_t new_namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

class Program {
 public:
  void add(uint16_t code, uint32_t value, uint8_t when_true = 0, uint8_t when_false = 0) { code_.push_back({code, when_true, when_false, value}); }
  void load(size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset)); }
  void answer(uint32_t action) { add(BPF_RET | BPF_K, action); }
  void refuse(int error) { answer(SECCOMP_RET_ERRNO | static_cast<uint32_t>(error)); }
  // The next instruction only where the accumulator equals the value.
  void when(uint32_t value) { add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1); }
  // A rule for one call of which one argument decides; `body` leaves the call's number loaded when it does not answer.
  template <typename Body>
  void for_call(uint32_t call, size_t argument, Body&& body) {
    Program inner;
    inner.load(offsetof(seccomp_data, args) + argument * sizeof(uint64_t));
    body(inner);
    inner.answer(SECCOMP_RET_ALLOW);
    add(BPF_JMP | BPF_JEQ | BPF_K, call, 0, static_cast<uint8_t>(inner.code_.size()));
    code_.insert(code_.end(), inner.code_.begin(), inner.code_.end());
  }
  sock_fprog get() { return {static_cast<unsigned short>(code_.size()), code_.data()}; }

 private:
  std::vector<sock_filter> code_;
};

Program build(const Options& options) {
  Program program;
  program.load(offsetof(seccomp_data, arch));
  program.add(BPF_JMP | BPF_JEQ | BPF_K, architecture, 1, 0);
  program.answer(SECCOMP_RET_KILL_PROCESS);
  program.load(offsetof(seccomp_data, nr));
#if defined(__x86_64__)
  constexpr uint32_t x32 = 0x40000000;
  program.add(BPF_JMP | BPF_JGE | BPF_K, x32, 0, 1);
  program.answer(SECCOMP_RET_KILL_PROCESS);
#endif
  for (uint32_t call : denied) {
    program.when(call);
    program.refuse(EPERM);
  }
  // NVIDIA's tools make what they listen on their own to use; all that is not the command's is read-only for them.
  if (!options.metadata && !options.tools)
    for (uint32_t call : of_metadata) {
      program.when(call);
      program.refuse(EPERM);
    }
  if (!options.tools) {
    for (uint32_t call : of_shared_names) {
      program.when(call);
      program.refuse(EPERM);
    }
    program.when(SYS_connect);
    program.refuse(EPERM);
  }
  if (!options.gpu) {
    for (uint32_t call : of_sockets) {
      program.when(call);
      program.refuse(EPERM);
    }
    program.when(SYS_socket);
    program.refuse(EPERM);
  } else if (options.tools) {
    program.for_call(SYS_socket, 0, [](Program& inner) {
      for (uint32_t family : {AF_UNIX, AF_INET, AF_INET6}) {
        inner.when(family);
        inner.answer(SECCOMP_RET_ALLOW);
      }
      inner.refuse(EPERM);
    });
  } else {
    program.for_call(SYS_socket, 0, [](Program& inner) {
      constexpr uint32_t type_bits = 0xf;
      inner.add(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0);
      inner.refuse(EPERM);
      inner.load(offsetof(seccomp_data, args) + sizeof(uint64_t));
      inner.add(BPF_ALU | BPF_AND | BPF_K, type_bits);
      inner.add(BPF_JMP | BPF_JEQ | BPF_K, SOCK_STREAM, 2, 0);
      inner.add(BPF_JMP | BPF_JEQ | BPF_K, SOCK_SEQPACKET, 1, 0);
      inner.refuse(EPERM);
    });
  }
  // NVIDIA's tools speak with what they start through named pipes; devices and sockets are nobody's to make.
  const auto node = [&options](Program& inner) {
    if (options.tools) {
      inner.add(BPF_ALU | BPF_AND | BPF_K, S_IFMT);
      inner.when(S_IFIFO);
      inner.answer(SECCOMP_RET_ALLOW);
    }
    inner.refuse(EPERM);
  };
  program.for_call(SYS_mknodat, 2, node);
#if defined(__x86_64__)
  program.for_call(SYS_mknod, 1, node);
#endif
  // Its flags lie in memory, where a filter cannot look; the C library then uses clone.
  program.when(call_clone3);
  program.refuse(ENOSYS);
  program.for_call(SYS_clone, 0, [](Program& inner) {
    inner.add(BPF_JMP | BPF_JSET | BPF_K, new_namespaces, 0, 1);
    inner.refuse(EPERM);
  });
  // A pair of streams stays a pair; datagrams could be sent to any socket in the file system.
  if (!options.tools)
    program.for_call(SYS_socketpair, 0, [](Program& inner) {
      constexpr uint32_t type_bits = 0xf;
      inner.add(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0);
      inner.refuse(EPERM);
      inner.load(offsetof(seccomp_data, args) + sizeof(uint64_t));
      inner.add(BPF_ALU | BPF_AND | BPF_K, type_bits);
      inner.add(BPF_JMP | BPF_JEQ | BPF_K, SOCK_STREAM, 1, 0);
      inner.refuse(EPERM);
    });
  program.for_call(SYS_ioctl, 1, [](Program& inner) {
    constexpr uint32_t linux_console = 0x541c;  // TIOCLINUX; both put characters into a terminal's input
    for (uint32_t request : {static_cast<uint32_t>(TIOCSTI), linux_console}) {
      inner.when(request);
      inner.refuse(EPERM);
    }
  });
  program.for_call(SYS_personality, 0, [](Program& inner) {
    inner.add(BPF_JMP | BPF_JEQ | BPF_K, 0xffffffff, 2, 0);  // a query
    inner.add(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
    inner.refuse(EPERM);
  });
  program.answer(SECCOMP_RET_ALLOW);
  return program;
}

}  // namespace

Layer confine_calls(const Options& options) {
  Program program = build(options);
  sock_fprog filter = program.get();
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter))
    return {false, std::string("seccomp is refused (") + std::strerror(errno) + "), so system calls are not confined"};
  return {true, ""};
}

}  // namespace cudanalyst::sandbox
