#include "table.hpp"

#include <cxxabi.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace cudanalyst::record {
namespace {

std::string demangle(const std::string& symbol) {
  int status = 0;
  char* text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  std::string result = status == 0 && text ? text : symbol;
  std::free(text);
  return result;
}

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  for (size_t at = 0; at <= line.size();) {
    const size_t end = std::min(line.find(' ', at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

void expect(bool good) {
  if (!good) throw std::runtime_error("wrong number or form of words");
}

int64_t whole(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end || errno) throw std::runtime_error("`" + text + "` is not a whole number");
  return value;
}

int small(const std::string& text) {
  const int64_t value = whole(text);
  if (value < INT32_MIN || value > INT32_MAX) throw std::runtime_error("`" + text + "` is too large");
  return static_cast<int>(value);
}

size_t byte_count(const std::string& text) {
  const int64_t value = whole(text);
  if (value < 0) throw std::runtime_error("`" + text + "` is negative");
  return static_cast<size_t>(value);
}

uint64_t address(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const unsigned long long value = std::strtoull(text.c_str(), &end, 16);
  if (!text.starts_with("0x") || text.size() < 3 || *end || errno) throw std::runtime_error("`" + text + "` is not an address (hexadecimal with 0x)");
  return value;
}

class Parser {
 public:
  Table table;

  void line(const std::string& text) {
    const auto words = words_of(text);
    const std::string& what = words[0];
    if (first_) {
      first_ = false;
      if (text != "cudanalyst-table 1") throw std::runtime_error("the first line must be `cudanalyst-table 1`");
    } else if (what == "library") {
      expect(text.size() > 8);
      table.library = text.substr(8);
    } else if (what == "device") {
      expect(text.size() > 7);
      table.device = text.substr(7);
    } else if (what == "memory") {
      expect(words.size() == 2);
      table.memory_bytes = byte_count(words[1]);
    } else if (what == "attribute") {
      expect(words.size() == 3);
      table.attributes[small(words[1])] = small(words[2]);
    } else if (what == "kernel") {
      kernel(words);
    } else if (what == "symbol") {
      expect(words.size() == 4);
      table.modules.variables[words[1]] = {address(words[2]), byte_count(words[3])};
    } else if (what == "arena" || what == "workspace") {
      expect(words.size() == 3);
      Range& range = what == "arena" ? table.arena : table.workspace;
      range.address = address(words[1]);
      range.bytes = byte_count(words[2]);
    } else if (what == "sizes") {
      sizes(words);
    } else if (what == "param") {
      table.parameters.push_back(runner::read_parameter(words));
    } else if (what == "set") {
      expect(words.size() == 1);
      table.sets.emplace_back();
    } else if (what == "buffer" || what == "value") {
      of_set(words);
    } else {
      throw std::runtime_error("unknown directive `" + what + "`");
    }
  }

  void finish() const {
    if (table.library.empty()) throw std::runtime_error("no `library`");
    for (int needed : {cudaDevAttrMaxThreadsPerBlock, cudaDevAttrWarpSize, cudaDevAttrMultiProcessorCount, cudaDevAttrComputeCapabilityMajor,
                       cudaDevAttrMaxThreadsPerMultiProcessor, cudaDevAttrMaxBlocksPerMultiprocessor, cudaDevAttrMaxRegistersPerMultiprocessor,
                       cudaDevAttrMaxSharedMemoryPerMultiprocessor, cudaDevAttrMaxSharedMemoryPerBlockOptin, cudaDevAttrMaxSharedMemoryPerBlock})
      if (!table.attributes.contains(needed)) throw std::runtime_error("lacks attribute " + std::to_string(needed));
    runner::check_parameters(table.parameters);
    for (const Set& set : table.sets)
      for (const runner::Parameter& p : table.parameters) {
        const bool buffer = p.kind == runner::Parameter::Kind::buffer;
        if (buffer ? !set.buffers.contains(p.name) : !set.values.contains(p.name))
          throw std::runtime_error("a set gives no buffer or value for `" + p.name + "`");
      }
  }

 private:
  bool first_ = true;

  void kernel(const std::vector<std::string>& words) {
    expect(words.size() >= 10);
    KernelFacts facts;
    facts.info.symbol = words[1];
    facts.info.name = demangle(words[1]);
    facts.registers = small(words[2]);
    facts.info.static_shared_bytes = byte_count(words[3]);
    facts.info.local_bytes = byte_count(words[4]);
    facts.constant_bytes = byte_count(words[5]);
    facts.max_threads = small(words[6]);
    facts.ptx_version = small(words[7]);
    facts.binary_version = small(words[8]);
    const size_t count = byte_count(words[9]);
    expect(count <= 4096 && words.size() == 10 + 2 * count);
    for (size_t i = 0; i < count; i++) {
      const Parameter made{byte_count(words[10 + 2 * i]), byte_count(words[11 + 2 * i])};
      if (made.offset > 65536 || made.bytes > 65536) throw std::runtime_error("parameters are longer than any kernel's");
      facts.info.parameters.push_back(made);
    }
    table.modules.kernels[words[1]] = std::move(facts);
  }

  void sizes(const std::vector<std::string>& words) {
    for (size_t i = 1; i < words.size(); i++) {
      if (words[i].empty()) continue;
      const size_t equals = words[i].find('=');
      expect(equals != std::string::npos);
      table.sizes.emplace_back(words[i].substr(0, equals), whole(words[i].substr(equals + 1)));
    }
    runner::check_sizes(table.sizes);
  }

  void of_set(const std::vector<std::string>& words) {
    if (table.sets.empty()) throw std::runtime_error("`" + words[0] + "` before the first `set`");
    Set& set = table.sets.back();
    if (words[0] == "buffer") {
      expect(words.size() == 4);
      set.buffers[words[1]] = {words[1], address(words[2]), byte_count(words[3])};
    } else {
      expect(words.size() == 3);
      set.values[words[1]] = words[2];
    }
  }
};

}  // namespace

Table read_table(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  Parser parser;
  std::string text;
  for (int number = 1; std::getline(file, text); number++) {
    try {
      parser.line(text);
    } catch (const std::runtime_error& error) { throw std::runtime_error("line " + std::to_string(number) + ": " + error.what()); }
  }
  parser.finish();
  // Registers allow no more threads than this; a lower bound is the kernel's own (__launch_bounds__), and told as such.
  for (auto& [symbol, facts] : parser.table.modules.kernels) {
    const int by_registers =
        facts.registers ? parser.table.attributes[cudaDevAttrMaxRegistersPerBlock] / ((facts.registers + 7) / 8 * 8 * 32) * 32 : INT32_MAX;
    if (facts.max_threads < std::min(by_registers, parser.table.attributes[cudaDevAttrMaxThreadsPerBlock]))
      facts.info.max_threads = static_cast<uint32_t>(facts.max_threads);
  }
  return parser.table;
}

}  // namespace cudanalyst::record
