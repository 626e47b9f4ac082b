// cudanalyst-executor --control SOCKET|fd:N [--driver PATH]: obeys its parent (EXECUTOR.md). No candidate's host code is ever loaded here.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "channel.hpp"
#include "commands.hpp"

namespace cudanalyst::executor {
namespace {

constexpr int bad_usage = 2, bad_start = 3;

struct Options {
  std::string control, driver = "libcuda.so.1";
};

Options parse(int argc, char** argv) {
  Options options;
  for (int at = 1; at < argc; at += 2) {
    const std::string_view name = argv[at];
    if (at + 1 >= argc) throw BadCommand(std::string(name) + " needs a value");
    if (name == "--control") options.control = argv[at + 1];
    else if (name == "--driver") options.driver = argv[at + 1];
    else throw BadCommand("unknown option " + std::string(name));
  }
  if (options.control.empty()) throw BadCommand("usage: cudanalyst-executor --control SOCKET|fd:N [--driver PATH]");
  return options;
}

Commands all_commands() {
  Commands commands;
  add_device_commands(commands);
  add_module_commands(commands);
  add_buffer_commands(commands);
  add_replay_commands(commands);
  if (add_timing_commands) add_timing_commands(commands);
  return commands;
}

void serve(Channel& channel) {
  const Commands commands = all_commands();
  Session session;
  std::string line;
  while (channel.read_line(line)) {
    if (line == "quit") {
      session.close();
      std::fflush(nullptr);
      return channel.write_line(Object().add("ok", true).text());
    }
    channel.write_line(commands.run(session, line));
  }
}

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  try {
    const Options options = parse(argc, argv);
    Channel channel(options.control);
    try {
      // Before the driver starts: a kernel's first launch is not to load its code.
      setenv("CUDA_MODULE_LOADING", "EAGER", 1);
      load_driver(options.driver);
      channel.write_line(Object().add("ok", true).add("executor", 1).text());
    } catch (const IoFailure& failure) {
      channel.write_line(Object().add("ok", false).add("kind", "io").add("command", "start").add("message", failure.what()).text());
      throw;
    }
    serve(channel);
  } catch (const BadCommand& failure) {
    std::fprintf(stderr, "cudanalyst-executor: %s\n", failure.what());
    return bad_usage;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "cudanalyst-executor: %s\n", failure.what());
    return bad_start;
  }
  return 0;
}

}  // namespace
}  // namespace cudanalyst::executor

int main(int argc, char** argv) { return cudanalyst::executor::main(argc, argv); }
