// The back end that runs everything at once, in the order of submission: one of the orders that streams and events allow.
#include <chrono>
#include <cstring>

#include "backend.hpp"
#include "errors.hpp"
#include "modules.hpp"

namespace cudanalyst {
namespace {

uint8_t* bytes_at(uint64_t address) { return reinterpret_cast<uint8_t*>(address); }

int copy_row(Direction direction, uint64_t to, uint64_t from, size_t bytes) {
  switch (direction) {
    case Direction::host_to_host: std::memmove(bytes_at(to), bytes_at(from), bytes); return success;
    case Direction::host_to_device: return memory::write(to, bytes_at(from), bytes);
    case Direction::device_to_host: return memory::read(bytes_at(to), from, bytes);
    case Direction::device_to_device: return memory::copy(to, from, bytes);
  }
  return invalid_value;
}

int fill_row(const FillRequest& request, uint64_t to) {
  if (request.element_bytes == 1) return memory::fill(to, static_cast<uint8_t>(request.pattern), request.row_elements);
  std::vector<uint8_t> row(request.row_elements * request.element_bytes);
  for (size_t i = 0; i < request.row_elements; i++) std::memcpy(&row[i * request.element_bytes], &request.pattern, request.element_bytes);
  return memory::write(to, row.data(), row.size());
}

class Execute final : public Backend {
 public:
  int launch(const LaunchRequest& request) override {
    int error = cudanalyst::launch(*request.function->kernel, request.shape, request.arguments.data(), request.arguments.size());
    if (errors::is_fault(error)) {
      errors::poison(error);
      return success;  // as on a GPU, the launch itself went well
    }
    if (error == not_supported) errors::note_not_executed(error);
    return error;
  }

  int copy(const CopyRequest& request) override {
    for (size_t row = 0; row < request.rows; row++) {
      int error = copy_row(request.direction, request.to + row * request.to_pitch, request.from + row * request.from_pitch, request.row_bytes);
      if (error) return error;
    }
    return success;
  }

  int fill(const FillRequest& request) override {
    for (size_t row = 0; row < request.rows; row++)
      if (int error = fill_row(request, request.to + row * request.pitch)) return error;
    return success;
  }

  int record(const Event&, const Stream&, double& when) override {
    when = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    return success;
  }

  int wait(const Stream&, const Event&) override { return success; }
  int synchronize() override { return success; }
};

}  // namespace

namespace {
Backend*& current() {
  static Backend* instance = new Execute;
  return instance;
}
}  // namespace

Backend& backend() { return *current(); }
void use(Backend& other) { current() = &other; }

}  // namespace cudanalyst
