#include "request.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace cudanalyst::runner {
namespace {

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  for (size_t at = 0; at <= line.size();) {
    const size_t end = std::min(line.find(' ', at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

int64_t whole(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end || errno) throw std::runtime_error("`" + text + "` is not a whole number");
  return value;
}

size_t byte_count(const std::string& text) {
  const int64_t value = whole(text);
  if (value < 0) throw std::runtime_error("`" + text + "` is negative");
  return static_cast<size_t>(value);
}

class Parser {
 public:
  Request request;

  void line(const std::string& text) {
    const auto words = words_of(text);
    const std::string& what = words[0];
    if (what == "library") return expect(text.size() > 8), void(request.library = text.substr(8));
    if (what == "sizes") return sizes(words);
    if (what == "param") return request.parameters.push_back(read_parameter(words));
    if (what == "workspace") return expect(words.size() == 2 && (words[1] == "yes" || words[1] == "no")), void(request.workspace = words[1] == "yes");
    if (what == "guard") return expect(words.size() == 2), void(request.guard = byte_count(words[1]));
    if (what == "call") return expect(words.size() == 1), void(request.calls.emplace_back());
    if (what == "buffer" || what == "value" || what == "download") return of_call(words);
    throw std::runtime_error("unknown directive `" + what + "`");
  }

  void finish() const {
    if (request.library.empty()) throw std::runtime_error("no `library`");
    if (request.calls.empty()) throw std::runtime_error("no `call`");
    check_parameters(request.parameters);
    for (const Call& call : request.calls)
      for (const Parameter& p : request.parameters) {
        const bool buffer = p.kind == Parameter::Kind::buffer;
        if (buffer ? !call.buffers.contains(p.name) : !call.values.contains(p.name))
          throw std::runtime_error("a call gives no contents or value for `" + p.name + "`");
      }
  }

 private:
  static void expect(bool good) {
    if (!good) throw std::runtime_error("wrong number or form of words");
  }

  void sizes(const std::vector<std::string>& words) {
    for (size_t i = 1; i < words.size(); i++) {
      const size_t equals = words[i].find('=');
      expect(equals != std::string::npos);
      request.sizes.emplace_back(words[i].substr(0, equals), whole(words[i].substr(equals + 1)));
    }
    check_sizes(request.sizes);
  }

  void of_call(const std::vector<std::string>& words) {
    if (request.calls.empty()) throw std::runtime_error("`" + words[0] + "` before the first `call`");
    Call& call = request.calls.back();
    if (words[0] == "buffer") {
      expect(words.size() == 4);
      call.buffers[words[1]] = {byte_count(words[2]), words[3]};
    } else if (words[0] == "value") {
      expect(words.size() == 3);
      call.values[words[1]] = words[2];
    } else {
      expect(words.size() == 3);
      call.downloads.push_back({words[1], words[2]});
    }
  }
};

}  // namespace

Request read_request(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  Parser parser;
  std::string text;
  for (int number = 1; std::getline(file, text); number++) {
    if (text.empty()) continue;
    try {
      parser.line(text);
    } catch (const std::runtime_error& error) { throw std::runtime_error("line " + std::to_string(number) + ": " + error.what()); }
  }
  parser.finish();
  return parser.request;
}

void take_contents(Request& request, const std::string& path) {
  for (const Call& call : request.calls)
    for (auto& [name, buffer] : call.buffers) {
      if (buffer.file == "-") continue;
      auto [at, fresh] = request.contents.try_emplace(buffer.file);
      at->second.uses++;
      const size_t bytes = buffer.bytes + 2 * request.guard;
      if (fresh) {
        std::ifstream file(buffer.file, std::ios::binary);
        at->second.bytes.resize(bytes);
        if (file.read(at->second.bytes.data(), static_cast<std::streamsize>(bytes)) && file.peek() == EOF) continue;
      } else if (at->second.bytes.size() == bytes) {
        continue;
      }
      throw std::runtime_error(buffer.file + " does not hold exactly " + std::to_string(bytes) + " bytes");
    }
  for (auto& [file, contents] : request.contents) unlink(file.c_str());
  unlink(path.c_str());
}

}  // namespace cudanalyst::runner
