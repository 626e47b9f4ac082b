// The back end that runs everything at once, in the order of submission: one of the orders that streams and events allow.
#include <chrono>
#include <cstring>

#include "../check/check.hpp"
#include "../check/order.hpp"
#include "backend.hpp"
#include "errors.hpp"
#include "modules.hpp"
#include "streams.hpp"

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

// initcheck: bytes that nothing wrote go to the host. Padding within eight bytes of which some were written is nobody's fault.
void check_initialised(uint64_t from, size_t row_bytes, size_t rows, size_t pitch) {
  for (size_t row = 0; row < rows; row++) {
    const uint64_t start = from + row * pitch;
    const uint64_t unwritten = memory::first_unwritten(start, row_bytes);
    if (unwritten == UINT64_MAX) continue;
    report_host_finding("uninitialized_copy", memory::describe(unwritten),
                        "A copy to the host of " + std::to_string(row_bytes) + " B from " + memory::describe(start) +
                            " reads what nothing has written, from " + memory::describe(unwritten) + " on",
                        "initcheck");
    return;
  }
}

// An operation of a stream, as the checks see it.
class Ordered {
 public:
  Ordered(const Stream& stream, const char* what) {
    if (order::watching()) order::begin(stream.id, !(stream.flags & cudaStreamNonBlocking), what);
  }
  ~Ordered() {
    if (order::watching()) order::end();
  }
  Ordered(const Ordered&) = delete;
  Ordered& operator=(const Ordered&) = delete;
};

void touch(uint64_t address, size_t bytes, bool writes) {
  const auto found = memory::find(address);
  if (!found) return;
  if ((config().checks & memcheck) && order::used_before_allocation(found->address))
    report_host_finding(
        "use_before_allocation", memory::describe(address),
        "A copy or fill uses memory that cudaMallocAsync gives in another stream: let this stream wait for an event behind the allocation");
  if ((config().checks & racecheck) && order::several_streams() && memory::host_view(address, bytes)) race_host_access(address, bytes, writes);
}

class Execute final : public Backend {
 public:
  int launch(const LaunchRequest& request) override {
    const Ordered ordered(*request.stream, "a kernel");
    int error = cudanalyst::launch(*request.function->kernel, request.shape, request.arguments.data(), request.arguments.size());
    if (errors::is_fault(error)) {
      errors::poison(error);
      return success;  // as on a GPU, the launch itself went well
    }
    if (error == not_supported) errors::note_not_executed(error);
    return error;
  }

  int copy(const CopyRequest& request) override {
    const Ordered ordered(*request.stream, "a copy");
    for (size_t row = 0; row < request.rows; row++) {
      if (request.direction == Direction::device_to_host || request.direction == Direction::device_to_device)
        touch(request.from + row * request.from_pitch, request.row_bytes, false);
      if (request.direction == Direction::host_to_device || request.direction == Direction::device_to_device)
        touch(request.to + row * request.to_pitch, request.row_bytes, true);
    }
    if (request.direction == Direction::device_to_host) check_initialised(request.from, request.row_bytes, request.rows, request.from_pitch);
    for (size_t row = 0; row < request.rows; row++) {
      int error = copy_row(request.direction, request.to + row * request.to_pitch, request.from + row * request.from_pitch, request.row_bytes);
      if (error) return error;
    }
    return success;
  }

  int fill(const FillRequest& request) override {
    const Ordered ordered(*request.stream, "a fill");
    for (size_t row = 0; row < request.rows; row++) touch(request.to + row * request.pitch, request.row_elements * request.element_bytes, true);
    for (size_t row = 0; row < request.rows; row++)
      if (int error = fill_row(request, request.to + row * request.pitch)) return error;
    return success;
  }

  int record(const Event& event, const Stream& stream, double& when) override {
    if (order::watching()) order::record(&event, stream.id);
    when = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    return success;
  }

  int wait(const Stream& stream, const Event& event) override {
    if (order::watching()) order::wait(stream.id, &event);
    return success;
  }
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
