// Timing commands of the executor: what a comparison holds. EXECUTOR.md has the commands.
#pragma once

#include "handles.hpp"
#include "json.hpp"
#include "session.hpp"

namespace cudanalyst::executor {

inline constexpr size_t most_pattern = 64;

// The state of one context's comparisons: device kernels, gate, flush, pairs of sides. Released before its context.
class Timing {
 public:
  explicit Timing(Session& session, const std::string& kernels_path);

  void describe(Object& answer) const;
  // timing_device.cpp: what touches the device without a candidate
  void preheat(double most_ms, double least_ms, Object& answer);
  void overhead(Object& answer);
  void bandwidth(Object& answer);
  void poison(CUdeviceptr to, uint64_t bytes, unsigned char byte);
  void touch(CUdeviceptr from, uint64_t bytes);
  void random(CUdeviceptr to, uint64_t elements, unsigned seed);

  // timing.cpp: pairs and groups
  enum class Mode { warm, cold, cold_data, single };
  void make_pair(const std::string& name, Mode mode, size_t calls, std::vector<std::string> a, std::vector<std::string> b, Object& answer);
  void drop_pair(const std::string& name);
  // How a block's ends are read: by events around it, or by kernels that write %globaltimer.
  enum class Clock { events, stamps };
  void time(const std::string& name, Clock clock, double gate_ms, const std::vector<std::string>& patterns, Object& answer);

 private:
  struct Side {
    std::vector<std::string> traces;
    std::vector<Owned<CUgraphExec>> graphs;
  };
  struct Pair {
    Mode mode = Mode::warm;
    size_t calls = 1;
    size_t next_set = 0;  // both sides of a group take the same sets
    bool direct = true;
    bool attributes = false;  // whether function attributes change within a call, so that each call sets them again
    Side sides[2];
  };
  struct Block {
    CUevent start, stop;
  };
  struct Group {
    std::vector<double> us;
    bool gated = false;
    bool drained = true;
    double host_us = 0;
  };

  void launch(CUfunction function, unsigned grid, unsigned block, std::vector<void*> arguments);
  void close_gate(double limit_ms);
  void open_gate();
  bool settle();  // waits; false where the gate gave up by itself
  void flush_data();
  void flush_code();
  double elapsed_us(const Block& block) const;
  double read_rate(CUdeviceptr from, size_t bytes, int passes);
  template <typename Work>
  Owned<CUgraphExec> capture(Work work);
  template <typename Work>
  double behind_gate(Work work);

  void stamp(size_t slot);
  std::vector<double> stamped_us(size_t blocks) const;
  void enqueue(Pair& pair, int side, size_t occurrence, Clock clock, size_t index);
  void call(Pair& pair, int side, size_t set);
  Group run_group(Pair& pair, Clock clock, const std::string& pattern, double gate_ms);
  Block block_events(size_t index);

  Session& session_;
  Owned<CUstream> stream_;
  Owned<CUmodule> module_;
  CUfunction empty_ = nullptr, gate_ = nullptr, flush_data_ = nullptr, flush_code_ = nullptr, burn_ = nullptr, random_ = nullptr, stamp_ = nullptr;
  Pinned pinned_;
  volatile unsigned* flag_ = nullptr;  // [0]: ticket that opens the gate, [1]: how often the gate gave up
  CUdeviceptr device_flag_ = 0;
  Allocation flush_buffer_, sink_, stamps_;
  size_t l2_bytes_ = 0;
  int burn_rounds_ = 2000;  // about a slice of preheating
  unsigned ticket_ = 0, given_up_ = 0, multiprocessors_ = 1;
  int gate_failures_ = 0;
  bool resets_persisting_ = false;
  std::vector<Owned<CUevent>> events_;
  std::map<std::string, Pair> pairs_;
};

// Records what `work` puts on the timing stream, as a graph that is ready to start.
template <typename Work>
Owned<CUgraphExec> Timing::capture(Work work) {
  CUgraph raw = nullptr;
  CU(cuStreamBeginCapture, stream_.get(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  try {
    work();
  } catch (...) {
    driver().cuStreamEndCapture(stream_.get(), &raw);
    Owned<CUgraph> dropped(raw);
    throw;
  }
  CU(cuStreamEndCapture, stream_.get(), &raw);
  Owned<CUgraph> graph(raw);
  CUgraphExec executable = nullptr;
  CU(cuGraphInstantiate, &executable, graph.get(), 0);
  Owned<CUgraphExec> owned(executable);
  CU(cuGraphUpload, executable, stream_.get());
  settle();
  return owned;
}

}  // namespace cudanalyst::executor
