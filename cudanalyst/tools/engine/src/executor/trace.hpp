// A canonical trace (TRACE.md) as operations of the driver API, ready to be replayed any number of times, also into a graph.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "handles.hpp"

namespace cudanalyst::executor {

struct Kernel {
  std::string symbol;
  CUfunction function = nullptr;
  std::vector<std::pair<size_t, size_t>> parameters;  // offset, bytes
};
using Kernels = std::map<std::string, Kernel, std::less<>>;

struct Operation {
  enum class Kind { attribute, launch, copy, upload, fill, record, wait };
  Kind kind;
  size_t stream = 0, event = 0;
  // attribute, launch
  const Kernel* kernel = nullptr;
  int attribute = 0, value = 0;
  unsigned grid[3] = {}, block[3] = {}, dynamic_shared = 0;
  std::vector<CUlaunchAttribute> attributes;
  std::vector<std::vector<uint8_t>> arguments;
  // copy, upload, fill; an upload's contents lie at `from` in the trace's pinned memory
  uint64_t to = 0, from = 0;
  size_t row_bytes = 0, rows = 1, to_pitch = 0, from_pitch = 0;
  uint32_t pattern = 0;
  unsigned element_bytes = 1;
};

// The streams and events that a trace's numbers stand for. Kept from call to call: a trace begins with none of its events recorded, and
// every call is waited for.
class Lanes {
 public:
  CUstream stream(size_t number, int priority);
  CUevent event(size_t number);
  void clear();
  // Every own stream, whoever used it.
  void each(const auto& visit) const {
    for (const auto& [key, stream] : streams_) visit(stream.get());
  }

 private:
  std::map<std::pair<size_t, int>, Owned<CUstream>> streams_;
  std::vector<Owned<CUevent>> events_;
};

class Trace {
 public:
  // Throws a BadCommand that names the line. Needs a current context (staging, tensor maps).
  Trace(std::string_view text, const Kernels& kernels);

  // Puts everything on `main` and on streams that fork from it. Waits for nothing, so it may be captured.
  // Function attributes are set on the way, unless they are known to be as this trace wants them.
  void enqueue(CUstream main, Lanes& lanes, bool attributes = true) const;
  // Does beforehand what would make the host wait: attributes, streams, events.
  void prepare(Lanes& lanes) const;
  const std::vector<Operation>& operations() const { return operations_; }

 private:
  class Reader;
  void stage();
  void begin_after_what_came_before();

  std::vector<Operation> operations_;
  std::vector<int> priorities_;  // of own streams 1, 2, ...
  std::vector<std::vector<uint8_t>> uploads_;
  Pinned staging_;
};

}  // namespace cudanalyst::executor
