// cudanalyst-sandbox [options] -- command: runs a command that may read what it is given, write one directory, and nothing else.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "sandbox.hpp"

namespace cudanalyst::sandbox {
namespace {

struct Context {
  const Options& options;
  const Namespaces& namespaces;
  int level_fd;
};

void append(std::string& text, const std::string& more) {
  if (more.empty()) return;
  if (!text.empty()) text += "; ";
  text += more;
}

void say_level(int fd, Level level, const std::string& why) {
  static const char* names[] = {"none", "partial", "full"};
  std::string line = names[static_cast<int>(level)];
  if (!why.empty()) line += ": " + why;
  line += '\n';
  if (fd >= 0 && write(fd, line.data(), line.size()) != static_cast<ssize_t>(line.size())) fail("cannot write the level");
}

// In the process that becomes the command.
void confine_and_run(void* data) {
  const Context& context = *static_cast<Context*>(data);
  const Options& options = context.options;
  limit_resources(options.limits, context.namespaces.user);
  prefer_to_be_killed();
  drop_privileges();
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) fail("no_new_privs is refused");
  const Layer files = confine_files(options);
  const Layer calls = confine_calls(options);
  std::string why;
  append(why, files.missing);
  append(why, calls.missing);
  append(why, context.namespaces.missing);
  const Level level = !files.any && !calls.any ? Level::none : why.empty() ? Level::full : Level::partial;
  say_level(context.level_fd, level, why);
  if (level < options.minimum) fail("the sandbox that is asked for is not available here: " + why);
  if (context.level_fd >= 0) close(context.level_fd);
  execvp(options.command[0], options.command);
  const int error = errno;
  fail(std::string("cannot run ") + options.command[0] + ": " + std::strerror(error));
}

int open_level(const Options& options) {
  if (options.level_fd >= 0) return options.level_fd;
  if (options.level_file.empty()) return -1;
  const int fd = open(options.level_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) fail("cannot write " + options.level_file + ": " + std::strerror(errno));
  return fd;
}

// Whatever else the starter had open is none of the command's business.
void close_inherited(int level_fd, int keep_fd) {
  unsigned next = 3;
  for (const int keep : {std::min(level_fd, keep_fd), std::max(level_fd, keep_fd)}) {
    if (keep < static_cast<int>(next)) continue;
    const auto kept = static_cast<unsigned>(keep);
    if (kept > next) syscall(SYS_close_range, next, kept - 1, 0u);
    next = kept + 1;
  }
  syscall(SYS_close_range, next, ~0u, 0u);
}

}  // namespace
}  // namespace cudanalyst::sandbox

int main(int argc, char** argv) {
  using namespace cudanalyst::sandbox;
  const pid_t parent = getppid();
  // The death of whoever started this ends everything.
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (getppid() != parent) return 125;
  const Options options = parse_options(argc, argv);
  const int level_fd = open_level(options);
  close_inherited(level_fd, options.keep_fd);
  const Namespaces namespaces = enter_namespaces(options.gpu);
  if (options.tools && !(namespaces.user && namespaces.network))
    fail("NVIDIA's tools need a network of their own: " + (namespaces.missing.empty() ? "no user namespace" : namespaces.missing));
  Context context{options, namespaces, level_fd};
  supervise(namespaces.processes, options, confine_and_run, &context);
}
