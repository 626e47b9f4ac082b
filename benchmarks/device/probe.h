// What the probes share: timing, and one JSON object a line on standard output.
#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

inline void ok(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}
#define OK(call) ok(call, #call)

struct Probe {
  cudaDeviceProp properties;
  int sms, clock_khz = 0;
  cudaStream_t stream;
  cudaEvent_t start, stop;
  char* room;  // device memory
  size_t room_bytes = size_t{2} << 30;

  explicit Probe(size_t bytes) : room_bytes(bytes) {
    OK(cudaGetDeviceProperties(&properties, 0));
    OK(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, 0));
    sms = properties.multiProcessorCount;
    OK(cudaStreamCreate(&stream));
    OK(cudaEventCreate(&start));
    OK(cudaEventCreate(&stop));
    OK(cudaMalloc(&room, room_bytes));
    OK(cudaMemset(room, 0, room_bytes));
  }

  // Least of several times, in microseconds, after one call that does not count.
  template <class Work>
  double us(Work&& work, int repeats = 5) {
    double least = 1e30;
    for (int k = 0; k <= repeats; ++k) {
      OK(cudaEventRecord(start, stream));
      work();
      OK(cudaEventRecord(stop, stream));
      OK(cudaEventSynchronize(stop));
      OK(cudaGetLastError());
      float ms = 0;
      OK(cudaEventElapsedTime(&ms, start, stop));
      if (k) least = std::min(least, 1e3 * ms);
    }
    return least;
  }

  // Most cycles that an SM took by its own clock; the kernel leaves them at room[0..].
  template <class Work>
  double cycles(Work&& work, int blocks, int repeats = 3) {
    std::vector<long long> seen(static_cast<size_t>(blocks));
    double least = 1e30;
    for (int k = 0; k <= repeats; ++k) {
      work();
      OK(cudaStreamSynchronize(stream));
      OK(cudaMemcpy(seen.data(), room, seen.size() * sizeof(long long), cudaMemcpyDeviceToHost));
      std::vector<long long> sorted = seen;
      std::sort(sorted.begin(), sorted.end());
      if (k) least = std::min(least, static_cast<double>(sorted[sorted.size() / 2]));
    }
    return least;
  }

  void say(const char* name, double value, const char* unit) const {
    std::printf("{\"probe\":\"%s\",\"value\":%.5g,\"unit\":\"%s\"}\n", name, value, unit);
    std::fflush(stdout);
  }
};

void probe_arithmetic(Probe& p);
void probe_memory(Probe& p);
void probe_latency(Probe& p);
void probe_launches(Probe& p);
