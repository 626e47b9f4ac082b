// Beginning and end of the engine in a process.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "api.hpp"
#include "backend.hpp"
#include "contexts.hpp"
#include "contract.hpp"
#include "errors.hpp"
#include "report/seal.hpp"
#include "runner_interface.hpp"
#include "streams.hpp"

namespace cudanalyst {
namespace {

std::atomic<bool> forked = false;  // a GPU's context does not survive fork in the child either
std::atomic<bool> by_runner = false, runner_done = false;
std::atomic<bool> expected = false;
pid_t owner = 0;

void write_end() {
  if (getpid() != owner || forked) return;
  // A candidate that leaves the process by itself has not ended in good order.
  if (by_runner && !runner_done) return;
  static std::atomic<bool> written = false;
  if (written.exchange(true)) return;
  finish_report();
  std::string line = R"({"type":"end","cuda_error":)" + std::to_string(errors::left_behind()) + R"(,"cuda_error_name":)";
  append_json_string(line, errors::name(errors::left_behind()));
  report_line(line + "}");
}

// Before any of the program's own static objects, so that the end comes after their destructors.
__attribute__((constructor)) void start() {
  owner = getpid();
  seal::take_key();
  std::atexit(write_end);
  pthread_atfork([] { api_mutex().lock(); }, [] { api_mutex().unlock(); },
                 [] {
                   // Owned by a thread of the parent, so it cannot be unlocked here.
                   new (&api_mutex()) std::recursive_mutex;
                   if (expected.exchange(false)) owner = getpid();
                   else forked = true;
                 });
}

// Device memory is out of the host's reach, as on a GPU. Before the process dies of that, say so: the signal alone tells nothing.
void on_bad_access(int signal, siginfo_t* about, void*) {
  std::signal(signal, SIG_DFL);  // the access is tried again when this returns
  const uint64_t address = reinterpret_cast<uint64_t>(about->si_addr);
  if (getpid() != owner || forked || !backend().on_device(about->si_addr)) return;
  alarm(2);  // ends the process should a lock be held
  const char* remedy = by_runner ? ": compute with it in a kernel" : ": copy it with cudaMemcpy, or allocate it with cudaMallocManaged";
  const std::string message = "Host code dereferenced device memory at " + backend().describe(address) + remedy;
  std::fprintf(stderr, "cudanalyst: %s\n", message.c_str());
  if (config().checks & memcheck) report_host_finding("host_access", backend().describe(address), message);
  alarm(0);
}

void watch_host_accesses() {
  struct sigaction before{};
  if (sigaction(SIGSEGV, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) return;
  struct sigaction watch{};
  watch.sa_sigaction = on_bad_access;
  watch.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &watch, nullptr);
}

}  // namespace

void lifecycle::expect_fork() { expected = true; }

int enter() {
  static const bool watching = (watch_host_accesses(), true);
  static_cast<void>(watching);
  if (forked) return cudaErrorInitializationError;
  return errors::poisoned();
}

int enter_runtime() {
  if (streams::in_host_function()) return cudaErrorNotPermitted;
  contexts::use_primary();
  return enter();
}

int enter_driver() {
  if (!contexts::initialised()) return CUDA_ERROR_NOT_INITIALIZED;
  if (streams::in_host_function()) return CUDA_ERROR_NOT_PERMITTED;
  if (!contexts::current()) return CUDA_ERROR_INVALID_CONTEXT;
  return enter();
}

}  // namespace cudanalyst

using namespace cudanalyst;

namespace {

void name_buffer(void* buffer, const char* name) { memory::rename(reinterpret_cast<uint64_t>(buffer), name); }

void begin_call(cudaStream_t stream) {
  Guard guard(api_mutex());
  if (Stream* main = streams::find(stream)) contract::begin(*main);
}

const char* end_call() {
  Guard guard(api_mutex());
  static thread_local std::string violation;
  violation = contract::end();
  return violation.empty() ? nullptr : violation.c_str();
}

void report_call(int index, const char* status, int value, int cuda_error, const char* message) {
  std::string line = R"({"type":"call","index":)" + std::to_string(index) + R"(,"status":)";
  append_json_string(line, status);
  line += R"(,"value":)" + std::to_string(value) + R"(,"cuda_error":)" + std::to_string(cuda_error) + R"(,"cuda_error_name":)";
  append_json_string(line, errors::name(cuda_error));
  line += R"(,"message":)";
  if (message) append_json_string(line, message);
  else line += "null";
  report_line(line + "}");
}

void report_download(int index, const char* buffer, const char* contents, size_t bytes) {
  if (!seal::on()) return;
  std::string line = R"({"type":"download","index":)" + std::to_string(index) + R"(,"buffer":)";
  append_json_string(line, buffer);
  report_line(line + R"(,"digest":")" + seal::digest({contents, bytes}) + "\"}");
}

void finish_run() {
  runner_done = true;
  write_end();
}

const RunnerInterface runner_interface{runner_interface_version,  name_buffer, begin_call, end_call, report_call, report_download, finish_run,
                                       record::record_interface()};

}  // namespace

CUDANALYST_API const RunnerInterface* cudanalyst_engine(void) {
  if (by_runner.exchange(true)) return nullptr;
  config();  // from the environment, which the runner clears before it loads the candidate
  report_line(R"({"type":"runner"})");
  contract::watch_candidate();
  return &runner_interface;
}
