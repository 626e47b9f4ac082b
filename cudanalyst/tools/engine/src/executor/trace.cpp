#include "trace.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "words.hpp"

namespace cudanalyst::executor {
namespace {

constexpr std::string_view first_line = "cudanalyst-trace 1";
constexpr size_t most_streams = 64, most_events = 4096, most_records = 4096, most_attributes = 16, most_maps = 256;
constexpr uint64_t most_bytes = uint64_t{1} << 48;  // of any extent: products of two still fit
constexpr size_t token_bytes = 128;

struct alignas(64) Map {
  std::vector<uint8_t> token;
  CUtensorMap map;
};

size_t padded(size_t bytes) { return (bytes + 255) / 256 * 256; }

// The token of a map made on the host, wherever it stands.
void replace_tokens(std::vector<uint8_t>& data, const std::vector<Map>& maps) {
  for (const Map& map : maps)
    for (auto at = data.begin(); (at = std::search(at, data.end(), map.token.begin(), map.token.end())) != data.end(); at += token_bytes)
      std::memcpy(&*at, &map.map, token_bytes);
}

CUDA_MEMCPY2D copy_of(const Operation& operation) {
  CUDA_MEMCPY2D copy{};
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = operation.to;
  copy.dstPitch = operation.to_pitch;
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = operation.from;
  copy.srcPitch = operation.from_pitch;
  copy.WidthInBytes = operation.row_bytes;
  copy.Height = operation.rows;
  return copy;
}

void enqueue_launch(const Operation& operation, CUstream stream) {
  CUlaunchConfig config{};
  config.gridDimX = operation.grid[0], config.gridDimY = operation.grid[1], config.gridDimZ = operation.grid[2];
  config.blockDimX = operation.block[0], config.blockDimY = operation.block[1], config.blockDimZ = operation.block[2];
  config.sharedMemBytes = operation.dynamic_shared;
  config.hStream = stream;
  config.attrs = const_cast<CUlaunchAttribute*>(operation.attributes.data());
  config.numAttrs = static_cast<unsigned>(operation.attributes.size());
  std::vector<void*> arguments;
  arguments.reserve(operation.arguments.size());
  for (auto& argument : operation.arguments) arguments.push_back(const_cast<uint8_t*>(argument.data()));
  CU(cuLaunchKernelEx, &config, operation.kernel->function, arguments.data(), nullptr);
}

void enqueue_copy(const Operation& operation, CUstream stream) {
  if (operation.rows == 1) return CU(cuMemcpyDtoDAsync, operation.to, operation.from, operation.row_bytes, stream);
  const CUDA_MEMCPY2D copy = copy_of(operation);
  CU(cuMemcpy2DAsync, &copy, stream);
}

void enqueue_upload(const Operation& operation, const char* staging, CUstream stream) {
  const char* contents = staging + operation.from;
  if (operation.rows == 1) return CU(cuMemcpyHtoDAsync, operation.to, contents, operation.row_bytes, stream);
  CUDA_MEMCPY2D copy = copy_of(operation);
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcDevice = 0;
  copy.srcHost = contents;
  copy.srcPitch = operation.row_bytes;
  CU(cuMemcpy2DAsync, &copy, stream);
}

void enqueue_fill(const Operation& operation, CUstream stream) {
  const size_t elements = operation.row_bytes / operation.element_bytes;
  const auto pattern = operation.pattern;
  const bool plane = operation.rows > 1;
  switch (operation.element_bytes) {
    case 1:
      if (plane) return CU(cuMemsetD2D8Async, operation.to, operation.to_pitch, static_cast<uint8_t>(pattern), elements, operation.rows, stream);
      return CU(cuMemsetD8Async, operation.to, static_cast<uint8_t>(pattern), elements, stream);
    case 2:
      if (plane) return CU(cuMemsetD2D16Async, operation.to, operation.to_pitch, static_cast<uint16_t>(pattern), elements, operation.rows, stream);
      return CU(cuMemsetD16Async, operation.to, static_cast<uint16_t>(pattern), elements, stream);
    default:
      if (plane) return CU(cuMemsetD2D32Async, operation.to, operation.to_pitch, pattern, elements, operation.rows, stream);
      return CU(cuMemsetD32Async, operation.to, pattern, elements, stream);
  }
}

}  // namespace

CUstream Lanes::stream(size_t number, int priority) {
  auto& stream = streams_[{number, priority}];
  if (!stream) stream = make_stream(priority);
  return stream.get();
}

CUevent Lanes::event(size_t number) {
  if (events_.size() <= number) events_.resize(number + 1);
  if (!events_[number]) events_[number] = make_event();
  return events_[number].get();
}

void Lanes::clear() {
  streams_.clear();
  events_.clear();
}

// One record after the other; what a record means is in TRACE.md.
class Trace::Reader {
 public:
  Reader(Trace& trace, const Kernels& kernels) : trace_(trace), kernels_(kernels) {}

  // True at the last record.
  bool record(std::string_view line) {
    if (trace_.operations_.size() >= most_records) throw BadCommand("more than " + std::to_string(most_records) + " records");
    Words words(line);
    const auto what = words.next("the record");
    if (what == "end") return words.signed_number("STATUS", INT32_MIN, INT32_MAX), words.end(), true;
    if (what == "stream") stream(words);
    else if (what == "attribute") attribute(words);
    else if (what == "launch") launch(words);
    else if (what == "copy") copy(words);
    else if (what == "upload") upload(words);
    else if (what == "fill") fill(words);
    else if (what == "record" || what == "wait") event(words, what == "record");
    else if (what == "tensor_map") tensor_map(words);
    else throw BadCommand("record `" + std::string(what.substr(0, 40)) + "` is none that is replayed");
    words.end();
    return false;
  }

 private:
  Operation& add(Operation::Kind kind) { return trace_.operations_.emplace_back(Operation{.kind = kind, .attributes = {}, .arguments = {}}); }

  const Kernel& kernel(Words& words) {
    const auto symbol = words.next("SYMBOL");
    const auto found = kernels_.find(symbol);
    if (found == kernels_.end()) throw BadCommand("the module has no kernel `" + std::string(symbol.substr(0, 200)) + "`");
    return found->second;
  }

  size_t lane(Words& words) { return words.number("STREAM", trace_.priorities_.size()); }

  void stream(Words& words) {
    if (words.number("ID") != trace_.priorities_.size() + 1) throw BadCommand("streams are numbered from 1 in order");
    if (trace_.priorities_.size() >= most_streams) throw BadCommand("more than " + std::to_string(most_streams) + " streams");
    trace_.priorities_.push_back(static_cast<int>(words.signed_number("PRIORITY", -64, 64)));
  }

  void attribute(Words& words) {
    Operation& made = add(Operation::Kind::attribute);
    made.kernel = &kernel(words);
    made.attribute = static_cast<int>(words.number("ATTRIBUTE", 64));
    made.value = static_cast<int>(words.signed_number("VALUE", INT32_MIN, INT32_MAX));
  }

  void launch(Words& words) {
    Operation& made = add(Operation::Kind::launch);
    made.kernel = &kernel(words);
    for (unsigned& extent : made.grid) extent = static_cast<unsigned>(words.number("GRID", UINT32_MAX));
    for (unsigned& extent : made.block) extent = static_cast<unsigned>(words.number("BLOCK", UINT32_MAX));
    made.dynamic_shared = static_cast<unsigned>(words.number("DYNAMIC_SHARED", UINT32_MAX));
    made.stream = lane(words);
    for (size_t left = words.number("N_ATTRIBUTES", most_attributes); left; left--) {
      CUlaunchAttribute attribute{};
      attribute.id = static_cast<CUlaunchAttributeID>(words.number("ID", 255));
      const auto value = words.bytes("HEX64");
      if (value.size() != sizeof attribute.value) throw BadCommand("a launch attribute has 64 bytes");
      std::memcpy(&attribute.value, value.data(), value.size());
      made.attributes.push_back(attribute);
    }
    const auto& parameters = made.kernel->parameters;
    const size_t count = words.number("N_ARGUMENTS");
    if (count != parameters.size())
      throw BadCommand("kernel `" + made.kernel->symbol + "` takes " + std::to_string(parameters.size()) + " arguments");
    for (auto& [offset, bytes] : parameters) {
      auto argument = words.bytes("an argument");
      if (argument.size() != bytes)
        throw BadCommand("an argument of kernel `" + made.kernel->symbol + "` has " + std::to_string(argument.size()) + " bytes, not " +
                         std::to_string(bytes));
      replace_tokens(argument, maps_);
      made.arguments.push_back(std::move(argument));
    }
  }

  void copy(Words& words) {
    Operation& made = add(Operation::Kind::copy);
    made.to = words.address("TO");
    made.from = words.address("FROM");
    made.row_bytes = words.number("ROW_BYTES", most_bytes);
    made.rows = words.number("ROWS", most_bytes);
    made.to_pitch = words.number("TO_PITCH", most_bytes);
    made.from_pitch = words.number("FROM_PITCH", most_bytes);
    made.stream = lane(words);
  }

  void upload(Words& words) {
    Operation& made = add(Operation::Kind::upload);
    made.to = words.address("TO");
    made.row_bytes = words.number("ROW_BYTES", most_bytes);
    made.rows = words.number("ROWS", most_bytes);
    made.to_pitch = words.number("TO_PITCH", most_bytes);
    made.stream = lane(words);
    auto contents = words.bytes("HEX");
    if (!made.rows || contents.size() / made.rows != made.row_bytes || contents.size() % made.rows)
      throw BadCommand("an upload's bytes are not ROWS rows of ROW_BYTES");
    replace_tokens(contents, maps_);
    made.from = staged_;
    staged_ += padded(contents.size());
    trace_.uploads_.push_back(std::move(contents));
  }

  void fill(Words& words) {
    Operation& made = add(Operation::Kind::fill);
    made.to = words.address("TO");
    made.pattern = static_cast<uint32_t>(words.number("PATTERN", UINT32_MAX));
    made.element_bytes = static_cast<unsigned>(words.number("ELEMENT_BYTES", 4));
    if (made.element_bytes != 1 && made.element_bytes != 2 && made.element_bytes != 4) throw BadCommand("ELEMENT_BYTES is 1, 2 or 4");
    made.row_bytes = words.number("ROW_ELEMENTS", most_bytes) * made.element_bytes;
    made.rows = words.number("ROWS", most_bytes);
    made.to_pitch = words.number("PITCH", most_bytes);
    made.stream = lane(words);
  }

  void event(Words& words, bool record) {
    Operation& made = add(record ? Operation::Kind::record : Operation::Kind::wait);
    made.event = words.number("EVENT", most_events);
    made.stream = lane(words);
    if (record) recorded_.insert(made.event);
    // Waiting for an event that nothing records orders nothing; the event of that number is another call's.
    else if (!recorded_.contains(made.event)) trace_.operations_.pop_back();
  }

  void tensor_map(Words& words) {
    if (maps_.size() >= most_maps) throw BadCommand("more than " + std::to_string(most_maps) + " tensor maps");
    Map& made = maps_.emplace_back();
    made.token = words.bytes("TOKEN");
    if (made.token.size() != token_bytes) throw BadCommand("a tensor map's token has 128 bytes");
    const auto type = static_cast<CUtensorMapDataType>(words.number("TYPE", 64));
    const auto rank = static_cast<unsigned>(words.number("RANK", 5));
    if (!rank) throw BadCommand("a tensor map's rank is 1 to 5");
    void* address = reinterpret_cast<void*>(words.address("ADDRESS"));
    cuuint64_t extents[5] = {}, strides[5] = {};
    cuuint32_t box[5] = {}, steps[5] = {};
    for (unsigned i = 0; i < rank; i++) extents[i] = words.number("EXTENT");
    for (unsigned i = 0; i + 1 < rank; i++) strides[i] = words.number("STRIDE");
    for (unsigned i = 0; i < rank; i++) box[i] = static_cast<cuuint32_t>(words.number("BOX", UINT32_MAX));
    for (unsigned i = 0; i < rank; i++) steps[i] = static_cast<cuuint32_t>(words.number("ELEMENT_STRIDE", UINT32_MAX));
    const auto interleave = static_cast<CUtensorMapInterleave>(words.number("INTERLEAVE", 64));
    const auto swizzle = static_cast<CUtensorMapSwizzle>(words.number("SWIZZLE", 64));
    const auto promotion = static_cast<CUtensorMapL2promotion>(words.number("L2_PROMOTION", 64));
    const auto outside = static_cast<CUtensorMapFloatOOBfill>(words.number("OUT_OF_BOUNDS_FILL", 64));
    CU(cuTensorMapEncodeTiled, &made.map, type, rank, address, extents, strides, box, steps, interleave, swizzle, promotion, outside);
  }

  Trace& trace_;
  const Kernels& kernels_;
  std::vector<Map> maps_;
  std::set<size_t> recorded_;
  size_t staged_ = 0;
};

Trace::Trace(std::string_view text, const Kernels& kernels) {
  Reader reader(*this, kernels);
  size_t number = 0;
  bool ended = false;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    number++;
    if (end == std::string_view::npos) throw BadCommand("line " + std::to_string(number) + " of the trace has no end");
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (ended) throw BadCommand("the trace goes on after its `end`");
    if (number == 1) {
      if (line != first_line) throw BadCommand("the trace does not begin with `" + std::string(first_line) + "`");
      continue;
    }
    try {
      ended = reader.record(line);
    } catch (const BadCommand& error) { throw BadCommand("line " + std::to_string(number) + " of the trace: " + error.what()); }
  }
  if (!ended) throw BadCommand("the trace has no `end`");
  begin_after_what_came_before();
  stage();
}

// A first kernel that may start before the one ahead of it has ended would overlap with another call, or with what flushes the caches.
void Trace::begin_after_what_came_before() {
  for (Operation& operation : operations_) {
    if (operation.kind != Operation::Kind::launch) continue;
    for (CUlaunchAttribute& attribute : operation.attributes)
      if (attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) attribute.value.programmaticStreamSerializationAllowed = 0;
    return;
  }
}

// Uploads come from pinned memory that lives as long as the trace: a graph reads it each time.
void Trace::stage() {
  size_t bytes = 0;
  for (auto& contents : uploads_) bytes += padded(contents.size());
  if (!bytes) return;
  staging_ = allocate_pinned(bytes);
  char* at = static_cast<char*>(staging_.get());
  for (auto& contents : uploads_) {
    std::memcpy(at, contents.data(), contents.size());
    at += padded(contents.size());
  }
  uploads_.clear();
}

namespace {

void set_attribute(const Operation& operation) {
  CU(cuFuncSetAttribute, operation.kernel->function, static_cast<CUfunction_attribute>(operation.attribute), operation.value);
}

}  // namespace

void Trace::prepare(Lanes& lanes) const {
  for (const Operation& operation : operations_) {
    using Kind = Operation::Kind;
    if (operation.stream) lanes.stream(operation.stream, priorities_[operation.stream - 1]);
    if (operation.kind == Kind::record || operation.kind == Kind::wait) lanes.event(operation.event);
    if (operation.kind == Kind::attribute) set_attribute(operation);
  }
}

void Trace::enqueue(CUstream main, Lanes& lanes, bool attributes) const {
  const auto* staging = static_cast<const char*>(staging_.get());
  for (const Operation& operation : operations_) {
    using Kind = Operation::Kind;
    CUstream stream = operation.stream ? lanes.stream(operation.stream, priorities_[operation.stream - 1]) : main;
    switch (operation.kind) {
      case Kind::attribute:
        if (attributes) set_attribute(operation);
        break;
      case Kind::launch: enqueue_launch(operation, stream); break;
      case Kind::copy:
        if (operation.row_bytes && operation.rows) enqueue_copy(operation, stream);
        break;
      case Kind::upload:
        if (operation.row_bytes) enqueue_upload(operation, staging, stream);
        break;
      case Kind::fill:
        if (operation.row_bytes && operation.rows) enqueue_fill(operation, stream);
        break;
      case Kind::record: CU(cuEventRecord, lanes.event(operation.event), stream); break;
      case Kind::wait: CU(cuStreamWaitEvent, stream, lanes.event(operation.event), 0); break;
    }
  }
}

}  // namespace cudanalyst::executor
