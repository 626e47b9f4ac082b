#include "session.hpp"

namespace cudanalyst::executor {
namespace {

template <typename Map>
typename Map::mapped_type& found(Map& map, const std::string& name, const char* what) {
  const auto at = map.find(name);
  if (at == map.end()) throw BadCommand(std::string("there is no ") + what + " `" + name + "`");
  return at->second;
}

}  // namespace

void Session::empty() {
  timing.reset();
  traces.clear();
  buffers.clear();
  modules.clear();
  lanes.clear();
}

void Session::close() {
  empty();
  stream.reset();
  context.reset();
  broken.reset();
}

void Session::need_context() const {
  if (!context) throw BadCommand("no context is open: `open INDEX` comes first");
}

LoadedModule& Session::module(const std::string& slot) { return found(modules, slot, "module"); }
Kernel& Session::kernel(LoadedModule& module, const std::string& symbol) { return found(module.kernels, symbol, "kernel"); }
Buffer& Session::buffer(const std::string& name) { return found(buffers, name, "buffer"); }
Trace& Session::trace(const std::string& id) { return found(traces, id, "trace"); }

}  // namespace cudanalyst::executor
