#pragma once
#include "../exec/core.hpp"

namespace cudanalyst::isa {

// Bytes that the mbarrier at `at` (where the engine has it) waits for have come; what the lane did so far is published with them.
void complete_bytes(Warp& w, u32 lane, u64 at, u64 bytes);

}  // namespace cudanalyst::isa
