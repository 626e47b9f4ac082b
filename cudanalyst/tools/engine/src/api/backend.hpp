// The seam between the API and what becomes of the work: `execute` runs it on this engine; `record` writes it down for a GPU, where
// there is neither device memory nor code: addresses and kernels are what a table says.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "engine.hpp"

namespace cudanalyst {

struct Function;
struct Stream;
struct Event;

struct LaunchAttribute {
  int id;             // cudaLaunchAttributeID
  uint8_t value[64];  // cudaLaunchAttributeValue
};

struct LaunchRequest {
  const Function* function;
  Launch shape;
  std::span<const uint8_t> arguments;  // packed as the kernel's parameter block
  std::span<const LaunchAttribute> attributes;
  const Stream* stream;
};

enum class Direction { host_to_host, host_to_device, device_to_host, device_to_device };

// `rows` rows of `row_bytes`, each a pitch after the one before; a plain copy is one row.
struct CopyRequest {
  uint64_t to, from;
  size_t row_bytes, rows = 1, to_pitch = 0, from_pitch = 0;
  Direction direction;
  const Stream* stream;
};

struct FillRequest {
  uint64_t to;
  uint32_t pattern;
  unsigned element_bytes;  // 1, 2 or 4
  size_t row_elements, rows = 1, pitch = 0;
  const Stream* stream;
};

// What is known of a kernel whose code is elsewhere.
struct KernelFacts {
  KernelInfo info;
  int registers = 0, max_threads = 0, ptx_version = 0, binary_version = 0;
  size_t constant_bytes = 0;
};
struct ModuleTable {
  std::map<std::string, KernelFacts, std::less<>> kernels;
  std::map<std::string, Symbol, std::less<>> variables;
};

// Why a call was not taken: `contract` is for the candidate to mend, and ends the evaluation on every toolchain; what is `unrecordable` runs, but not
// by a trace.
enum class Refusal { contract, unrecordable };

class Backend {
 public:
  virtual ~Backend() = default;
  // Each returns an error code. The request has been validated: shapes, addresses, handles.
  virtual int launch(const LaunchRequest& request) = 0;
  virtual int copy(const CopyRequest& request) = 0;
  virtual int fill(const FillRequest& request) = 0;
  // Seconds on a monotonic clock at which the event happened.
  virtual int record(const Event& event, const Stream& stream, double& when) = 0;
  virtual int wait(const Stream& stream, const Event& event) = 0;
  virtual int synchronize() = 0;

  // Device memory.
  virtual bool on_device(const void* pointer) { return memory::is_device(pointer); }
  virtual std::optional<memory::Allocation> find(uint64_t address) { return memory::find(address); }
  // [address, address + bytes) lies in one live allocation.
  virtual bool holds(uint64_t address, size_t bytes) { return memory::host_view(address, bytes) != nullptr; }
  virtual uint64_t allocate(size_t bytes, memory::Kind kind) { return memory::allocate(bytes, kind); }
  virtual Error release(uint64_t address) { return memory::release(address); }
  virtual std::string describe(uint64_t address) { return memory::describe(address); }
  virtual size_t free_bytes() { return memory::free_bytes(); }
  virtual size_t total_bytes() { return config().memory_bytes; }

  // Where kernels and variables come from; nullptr: from the code that host code registered.
  virtual const ModuleTable* modules() { return nullptr; }

  // A recorder's: is told what was refused, asked and failed.
  virtual bool recording() const { return false; }
  virtual void refused(Refusal, std::string_view /*call*/, const std::string& /*text*/) {}
  virtual bool gave_up() const { return false; }  // something was refused already
  virtual void asked(const std::string& /*question*/, int64_t /*answer*/) {}
  virtual void failed(std::string_view /*call*/, int /*error*/, const std::string& /*why*/) {}
};

Backend& backend();
void use(Backend& other);  // in place of the one that executes; for the rest of the process

}  // namespace cudanalyst
