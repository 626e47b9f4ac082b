// The seam between the API and what becomes of the work: `execute` runs it on this engine; `record` (for a GPU) will write it down.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine.hpp"

namespace cudanalyst {

struct Function;
struct Stream;
struct Event;

struct LaunchAttribute {
  int id;            // cudaLaunchAttributeID
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
};

Backend& backend();

}  // namespace cudanalyst
