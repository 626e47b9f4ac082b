// What timing does on the device without a candidate: its kernels, the gate, flushing, preheating, overheads, bandwidths.
#include <algorithm>
#include <atomic>
#include <chrono>

#include "commands.hpp"
#include "timing.hpp"

namespace cudanalyst::executor {

namespace {

constexpr size_t flush_factor = 2;         // times the L2
constexpr size_t least_flush = 32u << 20;  // where the driver does not say how large the L2 is
constexpr size_t bandwidth_bytes = 512u << 20;
constexpr int empty_calls = 256;
constexpr int overhead_rounds = 30, flush_rounds = 5, rate_rounds = 6;
constexpr double overhead_gate_ms = 50;
constexpr double slice_us = 2000;  // length of a preheating slice
constexpr double steady_share = 0.005;
constexpr size_t steady_slices = 8;

double now_ms() { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

// The smallest distance between two different readings: how finely events tell time.
double step_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  double step = 0;
  for (size_t i = 1; i < values.size(); i++) {
    const double gap = values[i] - values[i - 1];
    if (gap > 1e-3 && (step == 0 || gap < step)) step = gap;
  }
  return step;
}

}  // namespace

Timing::Timing(Session& session, const std::string& kernels_path) : session_(session), stream_(make_stream()) {
  const std::string image = read_file(kernels_path);
  CUmodule module = nullptr;
  CU(cuModuleLoadDataEx, &module, image.data(), 0, nullptr, nullptr);
  module_.reset(module);
  const std::pair<CUfunction*, const char*> wanted[] = {
      {&empty_, "empty"},          {&gate_, "gate"},  {&flush_data_, "flush_data"}, {&flush_code_, "flush_code"}, {&burn_, "burn"},
      {&random_, "random_values"}, {&stamp_, "stamp"}};
  for (const auto& [function, name] : wanted) CU(cuModuleGetFunction, function, module, name);
  int l2 = 0, multiprocessors = 1;
  CU(cuDeviceGetAttribute, &l2, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, session.device);
  CU(cuDeviceGetAttribute, &multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, session.device);
  l2_bytes_ = static_cast<size_t>(std::max(l2, 0));
  multiprocessors_ = static_cast<unsigned>(std::max(multiprocessors, 1));
  pinned_ = allocate_pinned(4096, CU_MEMHOSTALLOC_DEVICEMAP);
  flag_ = static_cast<unsigned*>(pinned_.get());
  flag_[0] = 0;
  flag_[1] = 0;
  CU(cuMemHostGetDevicePointer, &device_flag_, pinned_.get(), 0);
  flush_buffer_ = Allocation(std::max(flush_factor * l2_bytes_, least_flush));
  sink_ = Allocation(256);
  stamps_ = Allocation(2 * most_pattern * sizeof(unsigned long long));
  // Written once, here: what flushes later only reads, so it leaves no dirty lines that a candidate would have to pay for.
  CU(cuMemsetD8Async, flush_buffer_.address(), 1, flush_buffer_.bytes(), stream_.get());
  settle();
  resets_persisting_ = driver().cuCtxResetPersistingL2Cache && driver().cuCtxResetPersistingL2Cache() == CUDA_SUCCESS;
}

void Timing::describe(Object& answer) const {
  answer.add("l2_bytes", l2_bytes_).add("flush_bytes", flush_buffer_.bytes()).add("resets_persisting_l2", resets_persisting_);
}

void Timing::launch(CUfunction function, unsigned grid, unsigned block, std::vector<void*> arguments) {
  CUlaunchConfig shape = {};
  shape.gridDimX = grid;
  shape.blockDimX = block;
  shape.gridDimY = shape.gridDimZ = shape.blockDimY = shape.blockDimZ = 1;
  shape.hStream = stream_.get();
  CU(cuLaunchKernelEx, &shape, function, arguments.data(), nullptr);
}

void Timing::close_gate(double limit_ms) {
  ticket_++;
  auto nanoseconds = static_cast<long long>(limit_ms * 1e6);
  launch(gate_, 1, 1, {&device_flag_, &ticket_, &nanoseconds});
}

void Timing::open_gate() {
  flag_[0] = ticket_;
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

bool Timing::settle() {
  CU(cuStreamSynchronize, stream_.get());
  const bool kept = flag_[1] == given_up_;
  given_up_ = flag_[1];
  return kept;
}

void Timing::flush_data() {
  CUdeviceptr from = flush_buffer_.address(), sink = sink_.address();
  auto vectors = static_cast<long long>(flush_buffer_.bytes() / 16);
  int passes = 1;
  launch(flush_data_, multiprocessors_ * 8, 512, {&from, &vectors, &passes, &sink});
}

// One warp for each of an SM's four partitions goes through more code than any instruction cache of it holds.
void Timing::flush_code() {
  CUdeviceptr sink = sink_.address();
  launch(flush_code_, multiprocessors_, 128, {&sink});
}

double Timing::elapsed_us(const Block& block) const {
  float ms = 0;
  CU(cuEventElapsedTime, &ms, block.start, block.stop);
  return static_cast<double>(ms) * 1e3;
}

void Timing::stamp(size_t slot) {
  CUdeviceptr to = stamps_.address() + slot * sizeof(unsigned long long);
  launch(stamp_, 1, 1, {&to});
}

std::vector<double> Timing::stamped_us(size_t blocks) const {
  std::vector<unsigned long long> nanoseconds(2 * blocks);
  CU(cuMemcpyDtoH, nanoseconds.data(), stamps_.address(), nanoseconds.size() * sizeof(unsigned long long));
  std::vector<double> found;
  for (size_t i = 0; i < blocks; i++) found.push_back(static_cast<double>(nanoseconds[2 * i + 1] - nanoseconds[2 * i]) / 1e3);
  return found;
}

void Timing::preheat(double most_ms, double least_ms, Object& answer) {
  const Block slice = block_events(0);
  CUdeviceptr sink = sink_.address();
  int& rounds = burn_rounds_;
  std::vector<double> times;
  const double started = now_ms();
  bool steady = false;
  while (true) {
    CU(cuEventRecord, slice.start, stream_.get());
    launch(burn_, multiprocessors_ * 4, 256, {&sink, &rounds});
    CU(cuEventRecord, slice.stop, stream_.get());
    settle();
    const double us = elapsed_us(slice);
    if (us < slice_us / 2 && rounds < (1 << 24)) {
      rounds *= 2;  // still finding the length of a slice; the clock may be rising meanwhile
      times.clear();
    } else {
      times.push_back(us);
    }
    const double passed = now_ms() - started;
    if (times.size() >= steady_slices) {
      const auto [least, most] = std::minmax_element(times.end() - steady_slices, times.end());
      steady = *most <= *least * (1 + steady_share);
    }
    if ((steady && passed >= std::min(least_ms, most_ms)) || passed >= most_ms) break;
  }
  answer.add("milliseconds", now_ms() - started).add("slices", times.size()).add("steady", steady);
  if (!times.empty()) answer.add("first_us", times.front()).add("last_us", times.back());
}

template <typename Work>
double Timing::behind_gate(Work work) {
  const Block block = block_events(0);
  close_gate(overhead_gate_ms);
  CU(cuEventRecord, block.start, stream_.get());
  work();
  CU(cuEventRecord, block.stop, stream_.get());
  open_gate();
  if (!settle()) gate_failures_++;
  return elapsed_us(block);
}

void Timing::overhead(Object& answer) {
  const auto many = capture([&] {
    for (int i = 0; i < empty_calls; i++) launch(empty_, 1, 32, {});
  });
  std::vector<double> in_graph, alone, nothing, code, data;
  for (int i = 0; i < overhead_rounds; i++) {
    in_graph.push_back(behind_gate([&] { CU(cuGraphLaunch, many.get(), stream_.get()); }) / empty_calls);
    alone.push_back(behind_gate([&] { launch(empty_, 1, 32, {}); }));
    nothing.push_back(behind_gate([] {}));
    if (i >= flush_rounds) continue;
    code.push_back(behind_gate([&] { flush_code(); }));
    data.push_back(behind_gate([&] { flush_data(); }));
  }
  std::vector<double> all = alone;
  all.insert(all.end(), nothing.begin(), nothing.end());
  answer.add("in_graph_us", median(in_graph)).add("alone_us", median(alone)).add("events_us", median(nothing)).add("step_us", step_of(all));
  answer.add("flush_code_us", median(code)).add("flush_data_us", median(data)).add("gate_failures", gate_failures_);
}

// The best reading, in 1e9 bytes a second; the first one is for the caches and the clock.
double Timing::read_rate(CUdeviceptr from, size_t bytes, int passes) {
  const Block block = block_events(0);
  CUdeviceptr sink = sink_.address();
  auto vectors = static_cast<long long>(bytes / 16);
  double best = 0;
  for (int i = 0; i < rate_rounds; i++) {
    CU(cuEventRecord, block.start, stream_.get());
    launch(flush_data_, multiprocessors_ * 8, 512, {&from, &vectors, &passes, &sink});
    CU(cuEventRecord, block.stop, stream_.get());
    settle();
    const double us = elapsed_us(block);
    if (i && us > 0) best = std::max(best, static_cast<double>(bytes) * passes / us / 1e3);
  }
  return best;
}

void Timing::bandwidth(Object& answer) {
  const Allocation large(std::max(bandwidth_bytes, 8 * l2_bytes_));
  CU(cuMemsetD8Async, large.address(), 1, large.bytes(), stream_.get());
  settle();
  answer.add("dram_gb_per_s", read_rate(large.address(), large.bytes(), 1));
  if (l2_bytes_ >= (4u << 20)) answer.add("l2_gb_per_s", read_rate(large.address(), l2_bytes_ / 4, 20));
}

void Timing::poison(CUdeviceptr to, uint64_t bytes, unsigned char byte) {
  if (bytes) CU(cuMemsetD8Async, to, byte, bytes, stream_.get());
  settle();
}

// What is read through the L2 stays there as far as it fits.
void Timing::touch(CUdeviceptr from, uint64_t bytes) {
  CUdeviceptr sink = sink_.address();
  auto vectors = static_cast<long long>(bytes / 16);
  int passes = 1;
  if (vectors) launch(flush_data_, multiprocessors_ * 8, 512, {&from, &vectors, &passes, &sink});
  settle();
}

void Timing::random(CUdeviceptr to, uint64_t elements, unsigned seed) {
  auto count = static_cast<long long>(elements);
  launch(random_, multiprocessors_ * 16, 256, {&to, &count, &seed});
  settle();
}

}  // namespace cudanalyst::executor
