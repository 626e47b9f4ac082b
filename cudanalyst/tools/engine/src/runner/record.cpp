#include "record.hpp"

#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "candidate.hpp"
#include "record/table.hpp"

namespace cudanalyst::runner {
namespace {

// Whatever the candidate put in the file's place is removed, and not followed.
void write_file(const std::string& path, const std::string& text) {
  unlink(path.c_str());
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) leave(bad_request, "cannot write " + path + ": " + std::strerror(errno));
  for (size_t done = 0; done < text.size();) {
    const ssize_t written = write(file, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) leave(bad_request, "cannot write " + path + ": " + std::strerror(errno));
    done += static_cast<size_t>(written);
  }
  close(file);
}

// A candidate's function: what it returned, or what it threw.
struct Outcome {
  int value = 0;
  std::string exception;

  bool threw() const { return !exception.empty(); }
};

Outcome call(void* function, const char* name, const Arguments& arguments) {
  try {
    return {invoke<int>(function, arguments), {}};
  } catch (...) { return {0, thrown(name)}; }
}

// Buffers of a GPU lie where this process may have its libraries; these lie elsewhere in every process.
constexpr char attempt_variable[] = "CUDANALYST_ATTEMPT";
constexpr int most_attempts = 16;

int attempts() {
  const char* text = std::getenv(attempt_variable);
  return text ? std::atoi(text) : 0;
}

// What the runtime was told, which is cleared from the environment before a candidate is loaded.
std::vector<std::string> settings() {
  std::vector<std::string> found;
  for (char** entry = environ; *entry; entry++)
    if (std::string_view(*entry).starts_with("CUDANALYST_")) found.emplace_back(*entry);
  return found;
}

void start_again(char** argv, std::vector<std::string>& told, int attempt) {
  for (std::string& setting : told) putenv(setting.data());
  setenv(attempt_variable, std::to_string(attempt + 1).c_str(), 1);
  execv(reinterpret_cast<const char*>(getauxval(AT_EXECFN)), argv);
  leave(bad_request, std::string("cannot start again: ") + std::strerror(errno));
}

class Recording {
 public:
  explicit Recording(char** argv) : output_(argv[3]) {
    std::vector<std::string> told = settings();
    const int attempt = attempts();
    engine_ = take_engine().recording;
    std::string problem;
    bool taken = false;
    table_ = engine_->open(argv[2], problem, taken);
    if (taken && attempt < most_attempts) start_again(argv, told, attempt);
    if (!table_) leave(bad_request, std::string(argv[2]) + ": " + problem);
    candidate_ = load(table_->library);
  }

  // Constructors may have asked for work too. False: nothing can come of the calls.
  bool init() {
    const Outcome outcome = call_init();
    const bool stopped = outcome.value || outcome.threw() || engine_->refused();
    if (candidate_.init || engine_->anything()) write_file(output_ + "/init.trace", engine_->end_call(outcome.value, outcome.exception));
    return !stopped;
  }

  void calls() {
    for (size_t index = 0; index < table_->sets.size(); index++) {
      std::fflush(nullptr);
      const pid_t child = engine_->fork_call();
      if (child < 0) leave(bad_request, std::string("cannot fork: ") + std::strerror(errno));
      if (!child) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        one(index);
      }
      wait_for(child);
    }
  }

  // After init, whose findings it may use. Where init gives up there is nothing to ask: recording shows why.
  void workspace() {
    size_t bytes = 0;
    Outcome outcome = call_init();
    if (candidate_.workspace_bytes && !outcome.value && !outcome.threw() && !engine_->refused()) {
      try {
        bytes = invoke<size_t>(candidate_.workspace_bytes, size_arguments(table_->sizes));
      } catch (...) { outcome = {0, thrown("workspace_bytes")}; }
    }
    const bool stopped = outcome.threw() || engine_->refused();
    std::string names;
    for (auto& name : engine_->variables()) names += name + "\n";
    write_file(output_ + "/variables", names);
    write_file(output_ + "/workspace.trace", engine_->end_call(outcome.value, outcome.exception));
    if (!stopped) write_file(output_ + "/workspace", std::to_string(bytes) + "\n");
  }

 private:
  Outcome call_init() const { return candidate_.init ? call(candidate_.init, "init", size_arguments(table_->sizes)) : Outcome{}; }

  [[noreturn]] void one(size_t index) {
    const record::Set& set = table_->sets[index];
    cudaStream_t stream = nullptr;
    if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)) leave(bad_request, "no stream");
    Arguments arguments;
    for (const Parameter& parameter : table_->parameters) {
      if (parameter.kind == Parameter::Kind::buffer) arguments.add_integer(set.buffers.at(parameter.name).address);
      else add_value(arguments, parameter, set.values.at(parameter.name));
    }
    if (candidate_.workspace_bytes) {
      arguments.add_integer(table_->workspace.address);
      arguments.add_integer(table_->workspace.bytes);
    }
    arguments.add_integer(reinterpret_cast<uint64_t>(stream));
    cudaGetLastError();
    engine_->begin_call(stream, set);
    const Outcome outcome = call(candidate_.solve, "solve", arguments);
    write_file(output_ + "/" + std::to_string(index) + ".trace", engine_->end_call(outcome.value, outcome.exception));
    std::fflush(nullptr);
    std::_Exit(0);
  }

  // The runner ends as its child did, so that whoever started it sees how the candidate ended.
  static void wait_for(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
      if (errno != EINTR) leave(bad_request, std::string("cannot wait: ") + std::strerror(errno));
    if (WIFSIGNALED(status)) {
      std::signal(WTERMSIG(status), SIG_DFL);
      std::raise(WTERMSIG(status));
      std::_Exit(128 + WTERMSIG(status));
    }
    if (WIFEXITED(status) && WEXITSTATUS(status)) std::_Exit(WEXITSTATUS(status));
  }

  std::string output_;
  const record::RecordInterface* engine_ = nullptr;
  const record::Table* table_ = nullptr;
  Candidate candidate_;
};

}  // namespace

int record(char** argv) {
  Recording recording(argv);
  if (recording.init()) recording.calls();
  std::fflush(nullptr);
  std::_Exit(0);
}

int ask_workspace(char** argv) {
  Recording recording(argv);
  recording.workspace();
  std::fflush(nullptr);
  std::_Exit(0);
}

}  // namespace cudanalyst::runner
