// From lane addresses to bytes: every access goes through resolve().
#pragma once
#include "core.hpp"
#include "shape.hpp"

namespace cudanalyst {

// Checks and profile; addresses are device addresses (global) or offsets (shared, local). Returns the lanes that may go on.
void observe(Warp& w, const Instr& i, const u64* address, u32 lanes, AccessSpace space);
// The same for 32 lanes with a word each, and for 32 lanes side by side.
void observe_eights(Warp& w, const Instr& i, const Eights& e, AccessSpace space);
void observe_row(Warp& w, const Instr& i, u64 first, AccessSpace space);
u32 resolve_slow(Warp& w, const Instr& i, u64* address, u32 lanes);

void lane_addresses(Warp& w, const Instr& i, u64* address);
// Replaces the addresses of the lanes by host addresses; lanes that are off get a harmless one. Returns the lanes that may access.
u32 resolve(Warp& w, const Instr& i, u64* address);
// The same for what nearly every access is: 32 lanes, one element each, side by side, in bounds. Returns the place of lane 0;
// nullptr, with nothing done, when it is something else.
u8* resolve_row(Warp& w, const Instr& i);

}  // namespace cudanalyst
