// The report as the engine writes it, from this process. It is worth less than the engine's: the candidate's host code lives here too, and
// nothing watches what it asks of the runtime. Results say `native` for that.
#include "native.hpp"

#include <string>

#include "../engine.hpp"
#include "../report/seal.hpp"

namespace cudanalyst::runner {
namespace {

void name_buffer(void*, const char*) {}
void begin_call(cudaStream_t) {}
const char* end_call() { return nullptr; }

std::string error_fields(int error) {
  std::string text = ",\"cuda_error\":" + std::to_string(error) + ",\"cuda_error_name\":";
  append_json_string(text, cudaGetErrorName(static_cast<cudaError_t>(error)));
  return text;
}

void report_call(int index, const char* status, int value, int cuda_error, const char* message) {
  std::string line = "{\"type\":\"call\",\"index\":" + std::to_string(index) + ",\"status\":";
  append_json_string(line, status);
  line += ",\"value\":" + std::to_string(value) + error_fields(cuda_error) + ",\"message\":";
  if (message) append_json_string(line, message);
  else line += "null";
  report_line(line + "}");
}

void report_download(int index, const char* buffer, const char* contents, size_t bytes) {
  if (!seal::on()) return;
  std::string line = "{\"type\":\"download\",\"index\":" + std::to_string(index) + ",\"buffer\":";
  append_json_string(line, buffer);
  line += ",\"digest\":\"" + seal::digest({contents, bytes}) + "\"}";
  report_line(line);
}

void finish() { report_line("{\"type\":\"end\"" + error_fields(cudaPeekAtLastError()) + "}"); }

RunnerInterface make_interface() {
  RunnerInterface made{};
  made.version = runner_interface_version;
  made.name_buffer = name_buffer;
  made.begin_call = begin_call;
  made.end_call = end_call;
  made.report_call = report_call;
  made.report_download = report_download;
  made.finish = finish;
  return made;
}

}  // namespace

const RunnerInterface& native_interface() {
  static const RunnerInterface interface = make_interface();
  seal::take_key();
  config();
  report_line("{\"type\":\"runner\"}");
  return interface;
}

}  // namespace cudanalyst::runner
