// What a launch costs: one after the other in a stream and in a graph, and what starting blocks costs.
#include <string>

#include "probe.h"

namespace {

__global__ void empty() {}
__global__ void touches(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] += 1.0f; }
__global__ void clocked(long long* cycles) {
  unsigned long long from, to;
  const long long c0 = clock64();
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(from));
  do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(to));
  while (to - from < 2000000);
  cycles[0] = (clock64() - c0) * 1000000 / static_cast<long long>(to - from);
}

template <class Work>
double in_graph(Probe& p, int count, Work&& work) {
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  OK(cudaStreamBeginCapture(p.stream, cudaStreamCaptureModeGlobal));
  for (int k = 0; k < count; ++k) work();
  OK(cudaStreamEndCapture(p.stream, &graph));
  OK(cudaGraphInstantiate(&executable, graph, 0));
  const double us = p.us([&] { OK(cudaGraphLaunch(executable, p.stream)); }) / count;
  OK(cudaGraphExecDestroy(executable));
  OK(cudaGraphDestroy(graph));
  return us;
}

}  // namespace

void probe_launches(Probe& p) {
  auto* x = reinterpret_cast<float*>(p.room);
  auto* out = reinterpret_cast<long long*>(p.room);
  p.say("clock", p.cycles([&] { clocked<<<1, 1, 0, p.stream>>>(out); }, 1) / 1e6, "GHz");
  p.say("launch_in_stream", p.us([&] {
    for (int k = 0; k < 1000; ++k) empty<<<1, 32, 0, p.stream>>>();
  }) / 1000,
        "us");
  p.say("launch_alone", p.us([&] { empty<<<1, 32, 0, p.stream>>>(); }), "us");
  for (const int calls : {1, 8, 64, 512}) {
    char label[64];
    std::snprintf(label, sizeof label, "launch_in_graph_of_%d", calls);
    p.say(label, in_graph(p, calls, [&] { empty<<<1, 32, 0, p.stream>>>(); }), "us");
  }
  p.say("launch_in_graph_touching_a_block", in_graph(p, 64, [&] { touches<<<1, 256, 0, p.stream>>>(x); }), "us");
  p.say("launch_in_graph_touching_1MB", in_graph(p, 64, [&] { touches<<<1024, 256, 0, p.stream>>>(x); }), "us");
  p.say("memset_in_graph_4KB", in_graph(p, 64, [&] { OK(cudaMemsetAsync(x, 0, 4096, p.stream)); }), "us");
  for (const int threads : {32, 128, 256, 1024})
    for (const int per_sm : {1, 8, 64, 512}) {
      char label[64];
      std::snprintf(label, sizeof label, "empty_blocks_%d_threads_%d_per_sm", threads, per_sm);
      p.say(label, in_graph(p, 16, [&] { empty<<<p.sms * per_sm, threads, 0, p.stream>>>(); }), "us");
    }
}

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: probes BYTES launches|arithmetic|latency|memory ...\n");
    return 2;
  }
  Probe p(std::strtoull(argv[1], nullptr, 10));
  for (int k = 2; k < argc; ++k) {
    const std::string what = argv[k];
    if (what == "launches") probe_launches(p);
    if (what == "arithmetic") probe_arithmetic(p);
    if (what == "latency") probe_latency(p);
    if (what == "memory") probe_memory(p);
  }
}
