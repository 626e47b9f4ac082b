// The runner's request (REPORT.md), parsed and checked.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "parameters.hpp"

namespace cudanalyst::runner {

struct BufferContents {
  size_t bytes = 0;
  std::string file;  // "-": left uninitialised
};

struct Download {
  std::string buffer, file;
};

struct Call {
  std::map<std::string, BufferContents> buffers;
  std::map<std::string, std::string> values;
  std::vector<Download> downloads;
};

struct Request {
  std::string library;
  Sizes sizes;
  std::vector<Parameter> parameters;
  bool workspace = false;
  size_t guard = 0;
  std::vector<Call> calls;
  // Contents of buffers by file, and how many buffers are still to get them.
  struct Contents {
    std::vector<char> bytes;
    size_t uses = 0;
  };
  std::map<std::string, Contents> contents;
};

// Throws std::runtime_error that names the line and what is wrong with it.
Request read_request(const std::string& path);
// Reads every file of contents, and removes them and the request: nobody else is to read what later calls will be given.
void take_contents(Request& request, const std::string& path);

}  // namespace cudanalyst::runner
