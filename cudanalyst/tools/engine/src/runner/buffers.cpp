#include "buffers.hpp"

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace cudanalyst::runner {
namespace {

void check(cudaError_t error, const std::string& what) {
  if (error) throw std::runtime_error(what + ": " + cudaGetErrorName(error));
}

}  // namespace

// Calls with an odd index find fresh values at the old addresses, the others old and new values at new ones, so that neither a result
// kept by address nor one kept by value passes. Uninitialised buffers are always new.
Buffers::Place Buffers::place(const std::string& name, const BufferContents& contents, size_t index) {
  const size_t bytes = contents.bytes + 2 * request_.guard;
  auto before = now_.find(name);
  if (before != now_.end()) {
    if (index % 2 == 1 && before->second.bytes == bytes && contents.file != "-") return before->second;
    old_.push_back(before->second.base);
  }
  Place made{nullptr, bytes};
  check(cudaMalloc(reinterpret_cast<void**>(&made.base), bytes), "buffer " + name + " of " + std::to_string(bytes) + " bytes");
  if (made.base) engine_.name_buffer(made.base, name.c_str());
  return made;
}

void Buffers::prepare(size_t index) {
  for (auto& [name, contents] : request_.calls[index].buffers) {
    const Place here = place(name, contents, index);
    now_[name] = here;
    if (contents.file == "-") continue;
    auto kept = request_.contents.find(contents.file);
    const auto& data = kept->second.bytes;
    check(cudaMemcpy(here.base, data.data(), data.size(), cudaMemcpyHostToDevice), "contents of buffer " + name);
    if (!--kept->second.uses) request_.contents.erase(kept);
  }
}

void* Buffers::address(const std::string& name) const {
  const Place& here = now_.at(name);
  return here.base ? here.base + request_.guard : nullptr;
}

cudaError_t Buffers::download(size_t index) const {
  for (auto& [name, path] : request_.calls[index].downloads) {
    auto at = now_.find(name);
    if (at == now_.end()) throw std::runtime_error("download of unknown buffer " + name);
    std::vector<char> data(at->second.bytes);
    if (cudaError_t error = cudaMemcpy(data.data(), at->second.base, data.size(), cudaMemcpyDeviceToHost)) return error;
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    if (!file.write(data.data(), static_cast<std::streamsize>(data.size())) || !file.flush()) throw std::runtime_error("cannot write " + path);
    engine_.report_download(static_cast<int>(index), name.c_str(), data.data(), data.size());
  }
  return cudaSuccess;
}

void Buffers::release_old() {
  for (char* base : old_) cudaFree(base);
  old_.clear();
}

}  // namespace cudanalyst::runner
