// Device memory as the executor sees it: the arena, its shadow, and bounds of the live allocation around an address.
#pragma once
#include <cstdint>

#include "../engine.hpp"

namespace cudanalyst::memory {

struct Layout {
  uint64_t base = 0;  // first device address
  uint64_t bytes = 0;
  uint64_t delta = 0;                            // device address + delta = where the engine reads and writes the byte
  uint64_t shared_window = 0, local_window = 0;  // generic addresses of shared and local memory
  uint8_t* init = nullptr;                       // one byte per device byte (initcheck), else nullptr
  uint32_t* race = nullptr;                      // eight words per four device bytes (racecheck), else nullptr
};
constexpr uint64_t window_bytes = uint64_t{512} << 20;  // room for the shared memory of every block of a cluster (exec/cluster.hpp)

constexpr uint64_t parameter_bytes = 32768;  // at Layout::base: the kernel parameters of the launch in progress

const Layout& layout();

// Bounds of the live allocation that holds the address; bytes is 0 when there is none.
struct Bounds {
  uint64_t address = 0, bytes = 0;
};
Bounds live_bounds(uint64_t address, bool writes = false);  // constant memory is none for writes under memcheck
// The live or released allocation nearest to the address, for messages.
std::optional<Allocation> nearest(uint64_t address);
// Changes when an allocation is released, so that cached bounds can be dropped.
uint64_t generation();

}  // namespace cudanalyst::memory
