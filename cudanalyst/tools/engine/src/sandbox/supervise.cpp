// Who waits for whom. With a process namespace: this process, then the namespace's first process, then the command. The first process
// ends as soon as the command does, and the kernel ends all others with it. Without one: this process adopts every orphan and kills it.
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "sandbox.hpp"

namespace cudanalyst::sandbox {
namespace {

volatile sig_atomic_t asked_to_end = 0;
volatile pid_t child_to_kill = 0;

void on_signal(int signal) {
  asked_to_end = signal;
  if (child_to_kill > 0) kill(child_to_kill, SIGKILL);
}

constexpr int ending_signals[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};

void handle_signals(void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  for (int signal : ending_signals) sigaction(signal, &action, nullptr);
}

[[noreturn]] void end_like(int status) {
  if (asked_to_end) status = asked_to_end;
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    struct sigaction standard{};
    standard.sa_handler = SIG_DFL;
    sigaction(signal, &standard, nullptr);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, signal);
    sigprocmask(SIG_UNBLOCK, &only, nullptr);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);  // the command's crash is none of ours
    raise(signal);
    _exit(128 + signal);
  }
  _exit(WEXITSTATUS(status));
}

pid_t wait_any(int& status) {
  for (;;) {
    const pid_t pid = waitpid(-1, &status, 0);
    if (pid > 0 || errno != EINTR) return pid;
  }
}

pid_t start_command(void (*child)(void*), void* data) {
  const pid_t pid = fork();
  if (pid < 0) fail("cannot fork");
  if (pid == 0) {
    handle_signals(SIG_DFL);
    child(data);
    _exit(125);
  }
  return pid;
}

// The first process of a namespace: waits for the command and everything that it left to it.
[[noreturn]] void first_process(const Options& options, int status_pipe, int alive_pipe, void (*child)(void*), void* data) {
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  pollfd alive{alive_pipe, POLLIN, 0};
  if (poll(&alive, 1, 0) != 0) _exit(125);  // the other end is gone already
  mount_private_folders(options);
  const pid_t command = start_command(child, data);
  // Its own ends of the command's input and output would keep them open.
  for (int fd = 0; fd < 3; fd++) close(fd);
  int status = 0;
  for (pid_t pid; (pid = wait_any(status)) > 0;)
    if (pid == command) break;
  [[maybe_unused]] auto written = write(status_pipe, &status, sizeof status);
  _exit(0);
}

[[noreturn]] void with_namespace(const Options& options, void (*child)(void*), void* data) {
  int status_pipe[2], alive_pipe[2];
  if (pipe2(status_pipe, O_CLOEXEC) || pipe2(alive_pipe, O_CLOEXEC)) fail("no pipe");
  const pid_t first = fork();
  if (first < 0) fail("cannot fork into the process namespace");
  if (first == 0) {
    close(status_pipe[0]);
    close(alive_pipe[1]);
    first_process(options, status_pipe[1], alive_pipe[0], child, data);
  }
  close(status_pipe[1]);
  close(alive_pipe[0]);
  child_to_kill = first;
  if (asked_to_end) kill(first, SIGKILL);
  int status = SIGKILL;  // as a wait status: what remains when the first process cannot tell
  ssize_t n;
  do n = read(status_pipe[0], &status, sizeof status);
  while (n < 0 && errno == EINTR);
  int ignored = 0;
  // Returns when the namespace is empty.
  while (waitpid(first, &ignored, 0) < 0 && errno == EINTR) {}
  end_like(status);
}

// Children of this process, orphans that it adopted among them.
void kill_children() {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
  FILE* file = std::fopen(path, "re");
  if (!file) return;
  int pid = 0;
  while (std::fscanf(file, "%d", &pid) == 1) kill(pid, SIGKILL);
  std::fclose(file);
}

[[noreturn]] void without_namespace(void (*child)(void*), void* data) {
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  const pid_t self = getpid();
  struct Command {
    pid_t parent;
    void (*child)(void*);
    void* data;
  } start{self, child, data};
  const pid_t command = start_command(
      [](void* pointer) {
        const Command& at = *static_cast<Command*>(pointer);
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (getppid() != at.parent) _exit(125);
        at.child(at.data);
      },
      &start);
  child_to_kill = command;
  if (asked_to_end) kill(command, SIGKILL);
  int status = 0, last = 0;
  for (pid_t pid; (pid = wait_any(last)) > 0;)
    if (pid == command) {
      status = last;
      break;
    }
  child_to_kill = 0;
  // Each round kills the children; theirs are then adopted and killed in the next.
  do kill_children();
  while (wait_any(last) > 0);
  end_like(status);
}

}  // namespace

void supervise(bool process_namespace, const Options& options, void (*child)(void*), void* data) {
  handle_signals(on_signal);
  if (process_namespace) with_namespace(options, child, data);
  without_namespace(child, data);
}

}  // namespace cudanalyst::sandbox
