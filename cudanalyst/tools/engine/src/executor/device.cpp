// init, open, empty, close, memory, profiler.
#include "commands.hpp"

namespace cudanalyst::executor {
namespace {

std::string uuid_of(CUdevice device) {
  CUuuid uuid{};
  CU(cuDeviceGetUuid, &uuid, device);
  std::string text = hexadecimal(uuid.bytes, sizeof uuid.bytes);
  for (const size_t at : {8, 13, 18, 23}) text.insert(at, "-");
  return "GPU-" + text;
}

// Every attribute that this driver knows, by number: those of the runtime API have the same.
Object attributes_of(CUdevice device) {
  Object attributes;
  for (int id = 1; id < CU_DEVICE_ATTRIBUTE_MAX; id++) {
    int value = 0;
    if (driver().cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(id), device) == CUDA_SUCCESS) attributes.add(std::to_string(id), value);
  }
  return attributes;
}

void open(Session& session, Words& words, Object& answer) {
  const auto index = static_cast<int>(words.number("INDEX", 1023));
  words.end();
  if (session.context) throw BadCommand("a context is open already: `close` comes first");
  CU(cuInit, 0);
  CU(cuDeviceGet, &session.device, index);
  CUcontext context = nullptr;
  CU(cuCtxCreate, &context, nullptr, 0, session.device);
  session.context.reset(context);
  session.stream = make_stream();
  char name[256] = {};
  CU(cuDeviceGetName, name, sizeof name, session.device);
  int version = 0, least = 0, greatest = 0;
  CU(cuDriverGetVersion, &version);
  CU(cuCtxGetStreamPriorityRange, &least, &greatest);
  size_t total = 0;
  CU(cuDeviceTotalMem, &total, session.device);
  answer.add("name", name).add("driver_version", version).add("uuid", uuid_of(session.device)).add("total_bytes", total);
  answer.add("least_priority", least).add("greatest_priority", greatest).add("attributes", attributes_of(session.device));
}

// What of starting up needs no context, so that it can be over before there is anything to run.
void init(Session&, Words& words, Object&) {
  words.end();
  CU(cuInit, 0);
}

// What its user had there is gone; opening and destroying a context takes a hundred times as long. Work of its own streams is waited for first.
void empty(Session& session, Words& words, Object&) {
  words.end();
  CU(cuCtxSynchronize);
  session.empty();
}

void memory(Session&, Words& words, Object& answer) {
  words.end();
  size_t free = 0, total = 0;
  CU(cuMemGetInfo, &free, &total);
  answer.add("free_bytes", free).add("total_bytes", total);
}

void profiler(Session&, Words& words, Object&) {
  const auto what = words.next("start or stop");
  words.end();
  if (what == "start") CU(cuProfilerStart);
  else if (what == "stop") CU(cuProfilerStop);
  else throw BadCommand("profiler takes start or stop");
}

}  // namespace

void add_device_commands(Commands& commands) {
  commands.add("init", init, false);
  commands.add("open", open, false);
  commands.add("close", [](Session& session, Words& words, Object&) { words.end(), session.close(); }, false);
  commands.add("empty", empty);
  commands.add("memory", memory);
  commands.add("profiler", profiler);
}

}  // namespace cudanalyst::executor
