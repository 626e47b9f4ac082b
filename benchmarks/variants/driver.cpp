// Checks, runs or times variants of problems; see README.md.
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "problem.hpp"

namespace {

using Launch = int (*)(void* const*, const long*, cudaStream_t);

constexpr double batch_us = 400;
constexpr int batches = 9, cold_runs = 7;
constexpr size_t flush_bytes = size_t{256} << 20;

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "driver: %s\n", what.c_str());
  std::exit(1);
}

void ok(cudaError_t status, const char* what) {
  if (status != cudaSuccess) die(std::string(what) + ": " + cudaGetErrorString(status));
}
#define OK(call) ok(call, #call)

void* load(const std::string& path, const char* symbol) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) die(dlerror());
  void* found = dlsym(library, symbol);
  if (!found) die(path + " has no " + symbol);
  return found;
}

std::string stem(const std::string& path) {
  const size_t from = path.rfind('/') + 1;
  return path.substr(from, path.rfind('.') - from);
}

struct Device {
  std::vector<void*> at;
  explicit Device(const std::vector<Array>& arrays) {
    for (const Array& a : arrays) {
      at.push_back(nullptr);
      OK(cudaMalloc(&at.back(), std::max<size_t>(a.bytes.size(), 4)));
      OK(cudaMemcpy(at.back(), a.bytes.data(), a.bytes.size(), cudaMemcpyHostToDevice));
    }
  }
  ~Device() {
    for (void* p : at) cudaFree(p);
  }
};

struct Difference {
  double most = 0;  // relative to the largest magnitude
  size_t wrong = 0, count = 0;
};

template <class T>
Difference difference(const uint8_t* got, const uint8_t* want, size_t bytes, double tolerance) {
  const T *g = reinterpret_cast<const T*>(got), *w = reinterpret_cast<const T*>(want);
  Difference found{0, 0, bytes / sizeof(T)};
  double largest = 1e-30;
  for (size_t i = 0; i < found.count; ++i) largest = std::max(largest, std::fabs(static_cast<double>(w[i])));
  for (size_t i = 0; i < found.count; ++i) {
    double d = std::fabs(static_cast<double>(g[i]) - static_cast<double>(w[i])) / largest;
    if (std::isnan(d)) d = HUGE_VAL;
    found.most = std::max(found.most, d);
    found.wrong += d > tolerance;
  }
  return found;
}

Difference difference_of(const Device& device, const Problem& p, const std::vector<Array>& arrays, const std::vector<Array>& expected) {
  Difference all;
  for (size_t k = 0; k < arrays.size(); ++k) {
    if (!arrays[k].result) continue;
    std::vector<uint8_t> got(arrays[k].bytes.size());
    OK(cudaMemcpy(got.data(), device.at[k], got.size(), cudaMemcpyDeviceToHost));
    const uint8_t* want = expected[k].bytes.data();
    Difference d;
    switch (arrays[k].type) {
      case Type::f32: d = difference<float>(got.data(), want, got.size(), p.tolerance); break;
      case Type::u32: d = difference<uint32_t>(got.data(), want, got.size(), p.tolerance); break;
      case Type::i32: d = difference<int32_t>(got.data(), want, got.size(), p.tolerance); break;
      case Type::u8: d = difference<uint8_t>(got.data(), want, got.size(), p.tolerance); break;
    }
    all = {std::max(all.most, d.most), all.wrong + d.wrong, all.count + d.count};
  }
  return all;
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

struct Clock {
  cudaStream_t stream;
  cudaEvent_t start, stop;
  void* flush;
  Clock() {
    OK(cudaStreamCreate(&stream));
    OK(cudaEventCreate(&start));
    OK(cudaEventCreate(&stop));
    OK(cudaMalloc(&flush, 2 * flush_bytes));
  }
  template <class Work>
  double us(Work&& work) {
    OK(cudaEventRecord(start, stream));
    work();
    OK(cudaEventRecord(stop, stream));
    OK(cudaEventSynchronize(stop));
    float ms = 0;
    OK(cudaEventElapsedTime(&ms, start, stop));
    return 1e3 * ms;
  }
};

// Warm: a graph of calls back to back, the median of batches. Cold: the L2 holds other data before each call (what was written is on its way out).
void time_one(Clock& clock, Launch launch, void* const* at, const long* n, double& warm, double& warm_least, double& cold) {
  const auto once = [&] { launch(at, n, clock.stream); };
  once();
  OK(cudaGetLastError());
  const double first = clock.us(once);
  const int calls = static_cast<int>(std::clamp(batch_us / std::max(first, 2.0), 1.0, 64.0));
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  OK(cudaStreamBeginCapture(clock.stream, cudaStreamCaptureModeGlobal));
  for (int k = 0; k < calls; ++k) once();
  OK(cudaStreamEndCapture(clock.stream, &graph));
  OK(cudaGraphInstantiate(&executable, graph, 0));
  OK(cudaGraphLaunch(executable, clock.stream));
  std::vector<double> seen;
  for (int k = 0; k < batches; ++k) {
    seen.push_back(clock.us([&] { OK(cudaGraphLaunch(executable, clock.stream)); }) / calls);
    if (k >= 2 && first > 5e3) break;
  }
  OK(cudaGraphExecDestroy(executable));
  OK(cudaGraphDestroy(graph));
  warm = median(seen);
  warm_least = *std::min_element(seen.begin(), seen.end());
  seen.clear();
  auto* flush = static_cast<uint8_t*>(clock.flush);
  for (int k = 0; k < cold_runs; ++k) {
    OK(cudaMemcpyAsync(flush, flush + flush_bytes, flush_bytes, cudaMemcpyDeviceToDevice, clock.stream));
    seen.push_back(clock.us(once));
    if (k >= 2 && first > 5e3) break;
  }
  cold = median(seen);
}

std::vector<int> numbers(const std::string& text) {
  std::vector<int> result;
  for (size_t at = 0; at < text.size(); at = text.find_first_of(',', at) == std::string::npos ? text.size() : text.find_first_of(',', at) + 1)
    result.push_back(std::atoi(text.c_str() + at));
  return result;
}

void one_problem(const std::string& mode, const std::vector<int>& sizes, const Problem& p, const std::vector<std::string>& variants, Clock* clock) {
  for (const int s : sizes) {
    if (s >= static_cast<int>(p.sizes.size())) continue;
    const long* n = p.sizes[static_cast<size_t>(s)].data();
    const std::vector<Array> arrays = p.arrays(n);
    std::vector<Array> expected;
    if (mode == "check") {
      expected = arrays;
      p.reference(n, expected);
    }
    size_t bytes = 0;
    for (const Array& a : arrays) bytes += a.bytes.size();
    for (const std::string& path : variants) {
      const Device device(arrays);
      const auto launch = reinterpret_cast<Launch>(load(path, "launch"));
      std::string said;
      char text[160];
      if (mode == "time") {
        double warm, least, cold;
        time_one(*clock, launch, device.at.data(), n, warm, least, cold);
        std::snprintf(text, sizeof text, ",\"warm_us\":%.4g,\"warm_least_us\":%.4g,\"cold_us\":%.4g", warm, least, cold);
        said = text;
      } else {
        launch(device.at.data(), n, nullptr);
        OK(cudaGetLastError());
        const cudaError_t status = cudaDeviceSynchronize();
        if (status != cudaSuccess) die(path + ": " + cudaGetErrorString(status));
        if (mode == "check") {
          const Difference d = difference_of(device, p, arrays, expected);
          const bool right = static_cast<double>(d.wrong) <= p.share_wrong * static_cast<double>(d.count);
          std::snprintf(text, sizeof text, ",\"error\":%.3g,\"wrong\":%zu,\"right\":%s", std::min(d.most, 1e30), d.wrong, right ? "true" : "false");
          said = text;
        }
      }
      std::string list;
      for (const long v : p.sizes[static_cast<size_t>(s)]) list += (list.empty() ? "" : ",") + std::to_string(v);
      std::printf("{\"problem\":\"%s\",\"variant\":\"%s\",\"size\":%d,\"n\":[%s],\"bytes\":%zu%s}\n", p.name, stem(path).c_str(), s, list.c_str(),
                  bytes, said.c_str());
      std::fflush(stdout);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) die("usage: driver check|run|time SIZES PROBLEM.so VARIANT.so ... [-- PROBLEM.so VARIANT.so ...]");
  const std::string mode = argv[1];
  const std::vector<int> sizes = numbers(argv[2]);
  Clock* clock = mode == "time" ? new Clock : nullptr;
  for (int k = 3; k < argc; ++k) {
    const auto of = reinterpret_cast<const Problem* (*)()>(load(argv[k], "problem"));
    std::vector<std::string> variants;
    for (++k; k < argc && std::string(argv[k]) != "--"; ++k) variants.push_back(argv[k]);
    one_problem(mode, sizes, *of(), variants, clock);
  }
}
