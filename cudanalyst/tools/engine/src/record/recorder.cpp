#include "recorder.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "api/device.hpp"
#include "api/errors.hpp"
#include "api/modules.hpp"

namespace cudanalyst::record {
namespace {

constexpr uint64_t arena_unit = 512, most_streams = 63, most_maps = 256;

std::string decimal(uint64_t number) { return std::to_string(number); }
uint8_t* bytes_at(uint64_t address) { return reinterpret_cast<uint8_t*>(address); }

bool within(const Range& range, uint64_t address, size_t bytes) {
  return address >= range.address && address - range.address <= range.bytes && bytes <= range.bytes - (address - range.address);
}

// The bytes of a launch attribute that mean something; the rest of the union may hold anything. 0: not one that a trace may have.
size_t meaningful_bytes(int id) {
  switch (id) {
    case cudaLaunchAttributeClusterDimension:
    case cudaLaunchAttributePreferredClusterDimension: return 12;
    case cudaLaunchAttributeCooperative:
    case cudaLaunchAttributeClusterSchedulingPolicyPreference:
    case cudaLaunchAttributeProgrammaticStreamSerialization:
    case cudaLaunchAttributePriority:
    case cudaLaunchAttributeMemSyncDomain:
    case cudaLaunchAttributePreferredSharedMemoryCarveout: return 4;
    default: return 0;
  }
}

}  // namespace

Recorder::Recorder(Table table) : table_(std::move(table)) {
  reserve();
  device::replace(table_.device, table_.attributes);
}

std::vector<Range> Recorder::given() const {
  std::vector<Range> ranges;
  if (set_)
    for (auto& [name, range] : set_->buffers) ranges.push_back(range);
  if (set_) ranges.push_back(table_.workspace);
  for (auto& [name, symbol] : table_.modules.variables) ranges.push_back({name, symbol.address, symbol.bytes});
  return ranges;
}

// A host object at the address of a buffer would be taken for it.
void Recorder::reserve() {
  std::vector<Range> ranges{table_.arena, table_.workspace};
  for (auto& [name, symbol] : table_.modules.variables) ranges.push_back({name, symbol.address, symbol.bytes});
  for (const Set& set : table_.sets)
    for (auto& [name, range] : set.buffers) ranges.push_back(range);
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  std::erase_if(ranges, [](const Range& range) { return !range.bytes; });
  for (Range& range : ranges) {
    if (range.address < page || range.bytes > UINT64_MAX / 4 || range.address > UINT64_MAX / 4)
      throw std::runtime_error("`" + range.name + "` has no address that can be used");
    const uint64_t end = (range.address + range.bytes + page - 1) / page * page;
    range.address = range.address / page * page;
    range.bytes = end - range.address;
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.address < b.address; });
  for (const Range& range : ranges) {
    if (!reserved_.empty() && range.address <= reserved_.back().address + reserved_.back().bytes) {
      Range& last = reserved_.back();
      last.bytes = std::max(last.address + last.bytes, range.address + range.bytes) - last.address;
    } else {
      reserved_.push_back(range);
    }
  }
  for (const Range& range : reserved_) {
    void* wanted = bytes_at(range.address);
    void* at = mmap(wanted, range.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (at == MAP_FAILED && errno == ENOMEM)
      throw std::runtime_error("no room for the addresses of `" + range.name + "` (" + decimal(range.bytes) +
                               " bytes): the limit on address space must allow for all buffers");
    if (at != wanted)
      throw AddressesTaken("the addresses of `" + range.name + "` are taken in this process (" + std::strerror(at == MAP_FAILED ? errno : EEXIST) +
                           ")");
  }
}

void Recorder::begin_init() { writer_.open(); }

void Recorder::begin_call(const Stream& main, const Set& set) {
  writer_.open();
  main_ = &main;
  set_ = &set;
  operations_ = 0;
  streams_ = {{&main, 0}};
  events_.clear();
  declared_.clear();
  tensor_maps_.forget_declared();
  maps_ = 0;
  failure_ = {};
}

std::string Recorder::end(int status, const std::string& exception) {
  std::string error;
  if (!exception.empty()) error = "0 " + exception;
  else if (errors::peek_last())
    error = decimal(errors::peek_last()) + " " +
            (failure_.error == errors::peek_last() ? failure_.text : std::string("solve: ") + errors::name(errors::peek_last()));
  return writer_.close(status, error);
}

bool Recorder::operation(const std::string& text) {
  operations_++;
  return writer_.line(text);
}

// In init all work is in the order in which it was asked for; own streams of a call appear when they are first used.
uint64_t Recorder::number(const Stream& stream) {
  if (!main_) return 0;
  auto [at, fresh] = streams_.try_emplace(&stream, streams_.size());
  if (fresh && at->second > most_streams)
    writer_.refuse(Refusal::unrecordable, "a stream",
                   "is one more than the " + decimal(most_streams) + " of its own that a call may use: use each for more than one piece of work");
  if (fresh) writer_.line("stream " + decimal(at->second) + " " + std::to_string(stream.priority));
  return at->second;
}

// A trace stands by itself: what was set before it is set in it again.
void Recorder::declare(const Function& function) {
  Declared& known = declared_[&function];
  const auto tell = [&](int id, int value) { writer_.line("attribute " + function.symbol + " " + std::to_string(id) + " " + std::to_string(value)); };
  if (function.max_dynamic_shared != known.dynamic) tell(cudaFuncAttributeMaxDynamicSharedMemorySize, known.dynamic = function.max_dynamic_shared);
  if (function.carveout != known.carveout) tell(cudaFuncAttributePreferredSharedMemoryCarveout, known.carveout = function.carveout);
  if (function.nonportable_cluster != known.nonportable)
    tell(cudaFuncAttributeNonPortableClusterSizeAllowed, known.nonportable = function.nonportable_cluster);
}

void Recorder::declare_maps(std::span<const uint8_t> bytes) {
  tensor_maps_.declare(bytes, [&](const std::string& token, const TensorMap& map) {
    if (++maps_ > most_maps)
      return writer_.refuse(Refusal::unrecordable, "a tensor map", "is one more than the " + decimal(most_maps) + " that a call may pass to kernels");
    writer_.line("tensor_map " + hexadecimal({reinterpret_cast<const uint8_t*>(token.data()), token.size()}) + " " + map.arguments());
  });
}

int Recorder::launch(const LaunchRequest& request) {
  const Function& function = *request.function;
  const Launch& shape = request.shape;
  std::string attributes;
  size_t count = 0;
  const auto add = [&](int id, std::span<const uint8_t> value) {
    std::array<uint8_t, sizeof(cudaLaunchAttributeValue)> padded{};
    std::copy(value.begin(), value.end(), padded.begin());
    attributes += " " + std::to_string(id) + " " + hexadecimal(padded);
    count++;
  };
  bool cooperative = false;
  for (const LaunchAttribute& attribute : request.attributes) {
    if (attribute.id == cudaLaunchAttributeIgnore) continue;
    const size_t bytes = meaningful_bytes(attribute.id);
    if (!bytes) {
      writer_.refuse(Refusal::unrecordable, "launch attribute " + std::to_string(attribute.id), "is not one that a trace can hold");
      return not_supported;
    }
    cooperative |= attribute.id == cudaLaunchAttributeCooperative;
    add(attribute.id, {attribute.value, bytes});
  }
  if (shape.cooperative && !cooperative) {
    const int yes = 1;
    add(cudaLaunchAttributeCooperative, {reinterpret_cast<const uint8_t*>(&yes), sizeof yes});
  }
  const uint64_t stream = number(*request.stream);
  declare(function);
  declare_maps(request.arguments);
  std::string line = "launch " + function.symbol;
  for (uint64_t value : {uint64_t{shape.grid.x}, uint64_t{shape.grid.y}, uint64_t{shape.grid.z}, uint64_t{shape.block.x}, uint64_t{shape.block.y},
                         uint64_t{shape.block.z}, uint64_t{shape.dynamic_shared_bytes}, stream, uint64_t{count}})
    line += " " + decimal(value);
  line += attributes + " " + decimal(function.info().parameters.size());
  for (const Parameter& parameter : function.info().parameters)
    line += " " + hexadecimal(request.arguments.subspan(parameter.offset, parameter.bytes));
  return operation(line) ? success : not_supported;
}

int Recorder::copy(const CopyRequest& request) {
  const bool one = request.rows == 1;
  const auto bytes_of = [&](size_t pitch) { return (request.rows - 1) * pitch + request.row_bytes; };
  switch (request.direction) {
    case Direction::host_to_host:
      for (size_t row = 0; row < request.rows; row++)
        std::memmove(bytes_at(request.to + row * request.to_pitch), bytes_at(request.from + row * request.from_pitch), request.row_bytes);
      return success;
    case Direction::device_to_host:
      writer_.refuse(Refusal::unrecordable, "a copy", "copies to the host, and nothing has run yet");
      return not_supported;
    case Direction::device_to_device: {
      if (!holds(request.to, bytes_of(request.to_pitch)) || !holds(request.from, bytes_of(request.from_pitch))) return invalid_value;
      const uint64_t stream = number(*request.stream);
      return operation("copy " + hexadecimal(request.to) + " " + hexadecimal(request.from) + " " + decimal(request.row_bytes) + " " +
                       decimal(request.rows) + " " + decimal(one ? 0 : request.to_pitch) + " " + decimal(one ? 0 : request.from_pitch) + " " +
                       decimal(stream))
                 ? success
                 : not_supported;
    }
    case Direction::host_to_device: break;
  }
  if (!holds(request.to, bytes_of(request.to_pitch))) return invalid_value;
  // Too long for any trace: not even looked at.
  if (request.row_bytes > (size_t{4} << 20) / request.rows) {
    writer_.refuse(Refusal::unrecordable, "a copy from the host", "brings more than 2 MiB of data");
    return not_supported;
  }
  std::vector<uint8_t> data(request.row_bytes * request.rows);
  for (size_t row = 0; row < request.rows; row++)
    std::memcpy(&data[row * request.row_bytes], bytes_at(request.from + row * request.from_pitch), request.row_bytes);
  declare_maps(data);
  const uint64_t stream = number(*request.stream);
  return operation("upload " + hexadecimal(request.to) + " " + decimal(request.row_bytes) + " " + decimal(request.rows) + " " +
                   decimal(one ? 0 : request.to_pitch) + " " + decimal(stream) + " " + hexadecimal(data))
             ? success
             : not_supported;
}

int Recorder::fill(const FillRequest& request) {
  const uint64_t stream = number(*request.stream);
  return operation("fill " + hexadecimal(request.to) + " " + decimal(request.pattern) + " " + decimal(request.element_bytes) + " " +
                   decimal(request.row_elements) + " " + decimal(request.rows) + " " + decimal(request.rows == 1 ? 0 : request.pitch) + " " +
                   decimal(stream))
             ? success
             : not_supported;
}

int Recorder::record(const Event& event, const Stream& stream, double& when) {
  when = 0;
  if (!main_) return success;
  const uint64_t on = number(stream);
  auto [at, fresh] = events_.try_emplace(&event, events_.size());
  return operation("record " + decimal(at->second) + " " + decimal(on)) ? success : not_supported;
}

// An event of before this call is past.
int Recorder::wait(const Stream& stream, const Event& event) {
  auto at = events_.find(&event);
  if (!main_ || at == events_.end()) return success;
  const uint64_t on = number(stream);
  return operation("wait " + decimal(at->second) + " " + decimal(on)) ? success : not_supported;
}

bool Recorder::on_device(const void* pointer) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  for (const Range& range : reserved_)
    if (within(range, address, 1)) return true;
  return false;
}

std::optional<memory::Allocation> Recorder::find(uint64_t address) {
  for (const Range& range : given())
    if (within(range, address, 1)) return memory::Allocation{range.address, range.bytes, memory::Kind::device, true, range.name};
  auto at = arena_.upper_bound(address);
  if (at == arena_.begin()) return std::nullopt;
  const memory::Allocation& found = std::prev(at)->second;
  return address - found.address < found.bytes ? std::optional(found) : std::nullopt;
}

bool Recorder::holds(uint64_t address, size_t bytes) {
  const auto found = find(address);
  return found && found->live && within({"", found->address, found->bytes}, address, bytes);
}

uint64_t Recorder::allocate(size_t bytes, memory::Kind) {
  const uint64_t start = (table_.arena.address + arena_top_ + arena_unit - 1) / arena_unit * arena_unit;
  if (!within(table_.arena, start, bytes) || !table_.arena.bytes) {
    writer_.refuse(Refusal::unrecordable, "an allocation",
                   "of " + decimal(bytes) + " bytes does not fit in the " + decimal(table_.arena.bytes) + " bytes that `init` may use");
    return 0;
  }
  arena_top_ = start + bytes - table_.arena.address;
  arena_[start] = {start, bytes, memory::Kind::device, true, ""};
  return start;
}

Error Recorder::release(uint64_t address) {
  auto at = arena_.find(address);
  if (at == arena_.end() || !at->second.live) return invalid_value;
  at->second.live = false;
  return success;
}

std::string Recorder::describe(uint64_t address) {
  const auto found = find(address);
  if (!found) return "0x" + hexadecimal(address);
  return (found->name.empty() ? "allocation 0x" + hexadecimal(found->address) : found->name) + "[" + decimal(found->bytes) + " B] + " +
         decimal(address - found->address);
}

void Recorder::failed(std::string_view call, int error, const std::string& why) {
  failure_ = {error, std::string(call) + ": " + errors::name(error) + (why.empty() ? "" : " (" + why + ")")};
}

}  // namespace cudanalyst::record
