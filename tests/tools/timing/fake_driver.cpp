// A driver on a simulated clock, for tests of what the executor does with time. Nothing is computed: kernels have durations.
//
// An image is text: `kernel NAME US NOISE PARAMETER_BYTES,... [WORDS]`. Words: `memo` (1 us unless the buffer behind its first argument was written
// since it last ran), `saves=SHARE` (likewise spares that share), `patient=CALLS` (only after as many calls without a pause of more than 1 us),
// `code=US` (takes longer after another kernel than after itself), `pending` (the driver says that own streams are busy), `stream` (moves 48 bytes for each of its fourth argument, as often as the fifth says).
// FAKE_* variables: SEED; COLD_CODE_US, PLACE_US, ORDER_US (what cold code costs: on average, spread by place, more for each module loaded
// later in a pair); CLOCK_RATE (of the clock that kernels read); QUEUE (launches after which the host waits for the device, gate or not); L2_MIB; LAUNCH_US;
// FOREIGN_CALLS (as many calls are held up by somebody else, every other one).
#include <cuda.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace {

double setting(const char* name, double otherwise) {
  const char* text = getenv(name);
  return text ? atof(text) : otherwise;
}

std::mt19937_64 engine(static_cast<unsigned long>(setting("FAKE_SEED", 1)));
double normal() { return std::normal_distribution<double>()(engine); }

struct Kernel {
  std::string name;
  double us = 1, noise = 0, place_us = 0;
  std::vector<size_t> parameters;
  double saves = 0, patient = 0, row = 0, code_us = 0, ended = -1e9;
  bool memo = false, pending = false, stream = false;
};
struct Module {
  std::deque<Kernel> kernels;
};
struct Stream {
  double free_at = 0;
};
struct Event {
  double at = 0;
};
struct Work {
  Stream* stream;
  double issued;
  std::function<void(Stream&, double)> run;  // moves the stream's time
};
struct Graph {
  std::vector<Work> work;
};

double host_us = 0;
std::deque<Work> queue;
Graph* capturing = nullptr;
Stream* capture_origin = nullptr;
int modules_loaded = 0, launches_behind_gate = 0;
const Kernel* last_run = nullptr;
bool gate_closed = false, code_cold = false, data_cold = false, any_pending = false;
double burnt_us = 0;
std::map<CUdeviceptr, size_t> memory;
std::map<CUdeviceptr, unsigned long long> stamps;
std::map<CUdeviceptr, long> written, remembered;
long writes = 0;
CUdeviceptr next_address = 0x10000000;
char fake_context;

void drain();

void issue(Stream* stream, std::function<void(Stream&, double)> run) {
  if (capturing) {
    capturing->work.push_back({stream, 0, std::move(run)});
    return;
  }
  host_us += setting("FAKE_LAUNCH_US", 2);
  queue.push_back({stream, host_us, std::move(run)});
  if (gate_closed && ++launches_behind_gate > setting("FAKE_QUEUE", 1e9)) drain();
}

void drain() {
  while (!queue.empty()) {
    Work work = std::move(queue.front());
    queue.pop_front();
    work.run(*work.stream, std::max(work.stream->free_at, work.issued));
    host_us = std::max(host_us, work.stream->free_at);
  }
  gate_closed = false;
  launches_behind_gate = 0;
}

template <typename T>
T argument(void** arguments, size_t index) {
  T value;
  memcpy(&value, arguments[index], sizeof value);
  return value;
}

CUdeviceptr allocation_of(CUdeviceptr address) {
  auto found = memory.upper_bound(address);
  return found == memory.begin() ? 0 : std::prev(found)->first;
}

// Everything that a candidate may do; the executor's own kernels are below.
double candidate_us(Kernel& kernel, CUdeviceptr first, double moved, bool overlaps, double start) {
  double us = kernel.us + moved / 4e6 - (overlaps ? 2 : 0);
  if (kernel.memo || kernel.saves > 0) {
    const CUdeviceptr base = allocation_of(first);
    kernel.row = start - kernel.ended < 1 ? kernel.row + 1 : 0;
    if (remembered[base] == written[base] + 1 && kernel.row >= kernel.patient) us = kernel.memo ? 1 : us * (1 - kernel.saves);
    remembered[base] = written[base] + 1;
  }
  if (last_run != &kernel) us += kernel.code_us;
  last_run = &kernel;
  us *= std::exp(kernel.noise * normal());
  // Somebody who takes no lease: so many calls are held up, every other one at random.
  static double held_up = 0;
  if (held_up++ < setting("FAKE_FOREIGN_CALLS", 0) && normal() > 0) us *= 2;
  if (code_cold) us += std::max(0.0, kernel.place_us);
  code_cold = data_cold = false;
  return us + setting("FAKE_GAP_US", 0.5);
}

void launch(Kernel& kernel, Stream* stream, void** arguments, bool overlaps) {
  if (kernel.name == "gate") {
    auto* flag = reinterpret_cast<volatile unsigned*>(argument<CUdeviceptr>(arguments, 0));
    const auto ticket = argument<unsigned>(arguments, 1);
    const double limit = static_cast<double>(argument<long long>(arguments, 2)) / 1e3;
    issue(stream, [=](Stream& on, double start) {
      if (static_cast<int>(flag[0] - ticket) >= 0) {
        on.free_at = std::max(start, host_us);
      } else {
        flag[1] = flag[1] + 1;
        on.free_at = start + limit;
      }
    });
    gate_closed = true;
    launches_behind_gate = 0;
  } else if (kernel.name == "flush_code") {
    issue(stream, [](Stream& on, double start) { code_cold = true, on.free_at = start + 100; });
  } else if (kernel.name == "flush_data") {
    const double bytes = 16.0 * static_cast<double>(argument<long long>(arguments, 1)) * argument<int>(arguments, 2);
    issue(stream, [=](Stream& on, double start) { data_cold = true, last_run = nullptr, on.free_at = start + bytes / 4e6; });
  } else if (kernel.name == "burn") {
    const int rounds = argument<int>(arguments, 1);
    // The clock rises to its end while the device works: from a quarter, within 10 ms.
    issue(stream, [=](Stream& on, double start) {
      const double clock = std::min(1.0, 0.25 + burnt_us / 1e4);
      const double us = rounds * 0.1 / clock;
      burnt_us += us;
      on.free_at = start + us;
    });
  } else if (kernel.name == "stamp") {
    const auto to = argument<CUdeviceptr>(arguments, 0);
    issue(stream, [=](Stream& on, double start) {
      // Steps of 32 ns; FAKE_CLOCK_RATE is how fast this clock goes.
      stamps[to] = static_cast<unsigned long long>(start * 1e3 * setting("FAKE_CLOCK_RATE", 1)) / 32 * 32;
      on.free_at = start + 0.5;
    });
  } else if (kernel.name == "empty" || kernel.name == "random_values") {
    issue(stream, [](Stream& on, double start) { on.free_at = start + 0.5; });
  } else {
    Kernel* made = &kernel;
    const CUdeviceptr first = kernel.parameters.empty() ? 0 : argument<CUdeviceptr>(arguments, 0);
    if (kernel.pending) any_pending = true;
    const double moved = kernel.stream ? 48.0 * static_cast<double>(argument<long long>(arguments, 3)) * argument<int>(arguments, 4) : 0;
    issue(stream, [=](Stream& on, double start) { on.free_at = start + candidate_us(*made, first, moved, overlaps, start), made->ended = on.free_at; });
  }
}

Stream* stream_of(CUstream handle) { return reinterpret_cast<Stream*>(handle); }
void touch(CUdeviceptr to) { written[allocation_of(to)] = ++writes; }

}  // namespace

extern "C" {

CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int* version) { return *version = 13000, CUDA_SUCCESS; }
CUresult cuGetErrorName(CUresult result, const char** name) {
  static char text[40];
  snprintf(text, sizeof text, "CUDA_ERROR_%d", static_cast<int>(result));
  return *name = text, CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char** text) { return *text = "of the fake driver", CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice* device, int) { return *device = 0, CUDA_SUCCESS; }
CUresult cuDeviceGetName(char* name, int, CUdevice) { return strcpy(name, "Fake GPU"), CUDA_SUCCESS; }
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  *value = attribute == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE ? static_cast<int>(setting("FAKE_L2_MIB", 60)) << 20
           : attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT ? 132 : 1;
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice) { return *bytes = size_t{1} << 36, CUDA_SUCCESS; }
CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams*, unsigned, CUdevice) { return *context = reinterpret_cast<CUcontext>(&fake_context), CUDA_SUCCESS; }
CUresult cuCtxSynchronize() { return drain(), CUDA_SUCCESS; }
CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) { return *least = 0, *greatest = -5, CUDA_SUCCESS; }
CUresult cuCtxResetPersistingL2Cache() { return CUDA_SUCCESS; }

CUresult cuModuleLoadDataEx(CUmodule* out, const void* image, unsigned, CUjit_option*, void**) {
  auto* module = new Module;
  std::istringstream text(static_cast<const char*>(image));
  const int order = modules_loaded++;
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    std::string word, parameters;
    if (!(words >> word) || word != "kernel") continue;
    Kernel kernel;
    words >> kernel.name >> kernel.us >> kernel.noise >> parameters;
    std::istringstream sizes(parameters == "-" ? "" : parameters);
    for (std::string size; std::getline(sizes, size, ',');) kernel.parameters.push_back(std::stoul(size));
    while (words >> word) {
      kernel.memo |= word == "memo";
      if (word.starts_with("saves=")) kernel.saves = std::stod(word.substr(6));
      if (word.starts_with("patient=")) kernel.patient = std::stod(word.substr(8));
      if (word.starts_with("code=")) kernel.code_us = std::stod(word.substr(5));
      kernel.stream |= word == "stream";
      kernel.pending |= word == "pending";
    }
    // The executor's own module is the first one; then pairs follow.
    kernel.place_us = setting("FAKE_COLD_CODE_US", 0) + setting("FAKE_PLACE_US", 0) * normal() + setting("FAKE_ORDER_US", 0) * (order % 2);
    module->kernels.push_back(kernel);
  }
  return *out = reinterpret_cast<CUmodule>(module), CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule handle, const char* name) {
  for (Kernel& kernel : reinterpret_cast<Module*>(handle)->kernels)
    if (kernel.name == name) return *function = reinterpret_cast<CUfunction>(&kernel), CUDA_SUCCESS;
  return CUDA_ERROR_NOT_FOUND;
}
CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule handle) { return *count = static_cast<unsigned>(reinterpret_cast<Module*>(handle)->kernels.size()), CUDA_SUCCESS; }
CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned count, CUmodule handle) {
  for (unsigned i = 0; i < count; i++) functions[i] = reinterpret_cast<CUfunction>(&reinterpret_cast<Module*>(handle)->kernels[i]);
  return CUDA_SUCCESS;
}
CUresult cuFuncGetName(const char** name, CUfunction function) { return *name = reinterpret_cast<Kernel*>(function)->name.c_str(), CUDA_SUCCESS; }
// As a driver might that has to wait for the device: whatever is queued behind a closed gate is then lost to it.
CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) { return drain(), CUDA_SUCCESS; }
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute, CUfunction) { return *value = 0, CUDA_SUCCESS; }
CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* bytes) {
  const auto& parameters = reinterpret_cast<Kernel*>(function)->parameters;
  if (index >= parameters.size()) return CUDA_ERROR_INVALID_VALUE;
  return *offset = 8 * index, *bytes = parameters[index], CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  *address = next_address;
  next_address += (bytes + 4095) / 4096 * 4096 + 4096;
  return memory[*address] = bytes, CUDA_SUCCESS;
}
CUresult cuMemHostAlloc(void** memory_, size_t bytes, unsigned) { return *memory_ = calloc(1, bytes), CUDA_SUCCESS; }
CUresult cuMemFreeHost(void* pointer) { return free(pointer), CUDA_SUCCESS; }
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* address, void* pointer, unsigned) { return *address = reinterpret_cast<CUdeviceptr>(pointer), CUDA_SUCCESS; }
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void*, size_t) { return touch(to), CUDA_SUCCESS; }
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
  drain();
  for (size_t at = 0; at + 8 <= bytes; at += 8)
    if (const auto found = stamps.find(from + at); found != stamps.end()) memcpy(static_cast<char*>(to) + at, &found->second, 8);
  return CUDA_SUCCESS;
}
CUresult cuMemsetD8Async(CUdeviceptr, unsigned char, size_t bytes, CUstream stream) {
  issue(stream_of(stream), [=](Stream& on, double start) { on.free_at = start + static_cast<double>(bytes) / 2e6; });
  return CUDA_SUCCESS;
}

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned, int) { return drain(), *stream = reinterpret_cast<CUstream>(new Stream), CUDA_SUCCESS; }
CUresult cuStreamDestroy_v2(CUstream stream) { return drain(), delete stream_of(stream), CUDA_SUCCESS; }
CUresult cuStreamSynchronize(CUstream) { return drain(), CUDA_SUCCESS; }
CUresult cuStreamQuery(CUstream) { return any_pending ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS; }
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  issue(stream_of(stream), [=](Stream& on, double start) { on.free_at = std::max(start, reinterpret_cast<Event*>(event)->at); });
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* shape, CUfunction function, void** arguments, void**) {
  bool overlaps = false;
  for (unsigned i = 0; i < shape->numAttrs; i++)
    overlaps |= shape->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION && shape->attrs[i].value.programmaticStreamSerializationAllowed;
  return launch(*reinterpret_cast<Kernel*>(function), stream_of(shape->hStream), arguments, overlaps), CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent* event, unsigned) { return *event = reinterpret_cast<CUevent>(new Event), CUDA_SUCCESS; }
CUresult cuEventDestroy_v2(CUevent event) { return delete reinterpret_cast<Event*>(event), CUDA_SUCCESS; }
CUresult cuEventRecord(CUevent event, CUstream stream) {
  issue(stream_of(stream), [=](Stream& on, double start) { reinterpret_cast<Event*>(event)->at = on.free_at = start + 1.28 / 2; });
  return CUDA_SUCCESS;
}
CUresult cuEventSynchronize(CUevent) { return drain(), CUDA_SUCCESS; }
CUresult cuEventElapsedTime_v2(float* ms, CUevent from, CUevent to) {
  constexpr double step = 0.032;
  const double start = std::floor(reinterpret_cast<Event*>(from)->at / step) * step, stop = std::floor(reinterpret_cast<Event*>(to)->at / step) * step;
  return *ms = static_cast<float>((stop - start) / 1e3), CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode) { return capturing = new Graph, capture_origin = stream_of(stream), CUDA_SUCCESS; }
CUresult cuStreamEndCapture(CUstream, CUgraph* graph) { return *graph = reinterpret_cast<CUgraph>(capturing), capturing = nullptr, CUDA_SUCCESS; }
CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph, unsigned long long) {
  return *executable = reinterpret_cast<CUgraphExec>(new Graph(*reinterpret_cast<Graph*>(graph))), CUDA_SUCCESS;
}
CUresult cuGraphUpload(CUgraphExec, CUstream) { return CUDA_SUCCESS; }
CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  auto* graph = reinterpret_cast<Graph*>(executable);
  issue(stream_of(stream), [=](Stream& on, double start) {
    on.free_at = start;
    for (const Work& work : graph->work) {
      // Streams of the capture begin when the graph does.
      if (work.stream != &on) work.stream->free_at = std::max(work.stream->free_at, start);
      work.run(*work.stream, work.stream->free_at);
      on.free_at = std::max(on.free_at, work.stream == &on ? on.free_at : start);
    }
  });
  return CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph graph) { return delete reinterpret_cast<Graph*>(graph), CUDA_SUCCESS; }
CUresult cuGraphExecDestroy(CUgraphExec graph) { return delete reinterpret_cast<Graph*>(graph), CUDA_SUCCESS; }

}  // extern "C"
