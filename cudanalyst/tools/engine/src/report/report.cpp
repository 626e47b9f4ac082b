// Configuration from the environment, and the report: JSON lines, flushed one by one, so that what a killed process found is not lost.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <mutex>

#include "../engine.hpp"
#include "seal.hpp"

namespace cudanalyst {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

uint64_t number(const char* name, uint64_t fallback) {
  const std::string text = variable(name);
  if (text.empty()) return fallback;
  char* end = nullptr;
  const uint64_t value = std::strtoull(text.c_str(), &end, 10);
  if (*end != 0) {
    std::string message = std::string("cudanalyst engine: ") + name + "=" + text + " is not a whole number\n";
    [[maybe_unused]] auto written = ::write(2, message.data(), message.size());
    std::_Exit(125);
  }
  return value;
}

[[noreturn]] void refuse(const std::string& message) {
  const std::string line = "cudanalyst engine: " + message + "\n";
  [[maybe_unused]] auto written = ::write(2, line.data(), line.size());
  std::_Exit(125);
}

unsigned parse_checks(const std::string& text) {
  if (text.empty()) return all_checks;
  unsigned checks = 0;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string name = text.substr(at, end - at);
    if (name == "memcheck") checks |= memcheck;
    else if (name == "racecheck") checks |= racecheck;
    else if (name == "initcheck") checks |= initcheck;
    else if (name == "synccheck") checks |= synccheck;
    else refuse("CUDANALYST_CHECKS names an unknown check: " + name);
    at = end + 1;
  }
  return checks;
}

Config read_config() {
  Config result;
  const std::string mode = variable("CUDANALYST_MODE");
  if (mode == "check") result.mode = Mode::check;
  else if (mode == "profile") result.mode = Mode::profile;
  else if (!mode.empty() && mode != "run") refuse("CUDANALYST_MODE must be run, check or profile, not " + mode);
  if (result.mode == Mode::check) result.checks = parse_checks(variable("CUDANALYST_CHECKS"));
  result.report_path = variable("CUDANALYST_REPORT");
  result.leaks = number("CUDANALYST_LEAK_CHECK", 0) != 0;
  result.seed = number("CUDANALYST_SEED", 0);
  result.threads = static_cast<unsigned>(std::min<uint64_t>(std::max<uint64_t>(number("CUDANALYST_THREADS", 1), 1), 256));
  result.max_warp_instructions = number("CUDANALYST_MAX_WARP_INSTRUCTIONS", 0);
  result.sample_budget = number("CUDANALYST_SAMPLE", 0);
  result.memory_bytes = number("CUDANALYST_MEMORY", size_t{4} << 30);
  result.device_path = variable("CUDANALYST_DEVICE");
  return result;
}

struct Report {
  int file = -1;
  uint64_t lines = 0;
  std::mutex mutex;
  Report() {
    const Config& c = config();
    if (c.report_path.empty()) return;
    file = ::open(c.report_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0) refuse("cannot open the report " + c.report_path + ": " + std::strerror(errno));
    const char* mode = c.mode == Mode::run ? "run" : c.mode == Mode::check ? "check" : "profile";
    put(std::string("{\"type\":\"engine\",\"version\":1,\"mode\":\"") + mode + "\"}");
  }
  void close() {
    ::close(file);
    file = -1;
  }
  void put(std::string_view json) {
    if (file < 0) return;
    std::string line(json);
    if (seal::on()) line += '\t' + seal::of_line(lines, json);
    lines++;
    line += '\n';
    for (size_t done = 0; done < line.size();) {
      const ssize_t n = ::write(file, line.data() + done, line.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return close();  // a full disk must not change what the program does, and half a line must not look like somebody else's
      done += static_cast<size_t>(n);
    }
  }
};

Report& report() {
  static Report* instance = new Report;  // never destroyed: lines may come from atexit handlers
  return *instance;
}

// Length of the valid UTF-8 sequence at `at`, or 0.
size_t utf8_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(at);
  size_t n = lead < 0x80 ? 1 : lead >= 0xc2 && lead < 0xe0 ? 2 : lead >= 0xe0 && lead < 0xf0 ? 3 : lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
  if (n == 0 || at + n > text.size()) return 0;
  for (size_t i = 1; i < n; ++i)
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  if ((lead == 0xe0 && byte(at + 1) < 0xa0) || (lead == 0xed && byte(at + 1) > 0x9f) || (lead == 0xf0 && byte(at + 1) < 0x90) ||
      (lead == 0xf4 && byte(at + 1) > 0x8f))
    return 0;
  return n;
}

}  // namespace

DeviceLimits& device_limits() {
  static auto& instance = *new DeviceLimits;
  return instance;
}

const Config& config() {
  static const Config* instance = new Config(read_config());
  return *instance;
}

void report_line(std::string_view json) {
  Report& r = report();
  if (r.file < 0) return;
  const std::lock_guard lock(r.mutex);
  r.put(json);
}

void append_json_string(std::string& out, std::string_view text) {
  static const char* hex = "0123456789abcdef";
  out += '"';
  for (size_t at = 0; at < text.size();) {
    const uint8_t c = static_cast<uint8_t>(text[at]);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
      ++at;
    } else if (c < 0x20 || c == 0x7f) {
      out += "\\u00";
      out += hex[c >> 4];
      out += hex[c & 15];
      ++at;
    } else if (const size_t n = utf8_length(text, at)) {
      out.append(text, at, n);
      at += n;
    } else {
      out += "\\ufffd";
      ++at;
    }
  }
  out += '"';
}

}  // namespace cudanalyst
