// Counts per instruction, for the functional profile.
#pragma once
#include <array>
#include <unordered_map>

#include "../exec/core.hpp"
#include "cache.hpp"

namespace cudanalyst {

struct Counts {
  u64 executed = 0, lanes = 0, requests = 0, sectors = 0, wavefronts = 0, ideal = 0, divergent = 0;
  u64 l2_sectors = 0, l2_misses = 0, first = 0;                    // asked of the L2; not there though touched before; touched for the first time
  u64 issued = 0;                                                  // lanes of the group, those that a predicate switches off included
  u64 shared_requests = 0, local_requests = 0, local_sectors = 0;  // of the requests
  u64 tags = 0;                                                    // lines of 128 bytes, over requests
  u64 addresses = 0, serial = 0;  // of atomics: distinct addresses over requests; lanes at the address that most of a request's share
};

struct Updates {  // that a slice of the L2 makes for one statement: sectors over requests; lanes that wait for each other at an address
  u64 requests = 0, lanes = 0;
};

// How a profile was sampled: some blocks of large launches stand for all (sample.hpp).
struct Sampled {
  static constexpr size_t quantities = 3;  // warp instructions, global sectors, shared wavefronts
  u64 blocks = 0, of = 0;
  double scale = 1;
  double variance[quantities] = {};
  bool after = false;  // a launch read what a sampled one wrote in part

  // Sectors that all blocks would mark: what the sample marked, scaled, within the part of each allocation that it reached into.
  u64 unique(const std::vector<u64>& bitmap) const;
};

struct Profile {
  const Program* program = nullptr;
  Launch launch;
  u64 launches = 0, warps = 0, blocks = 0;
  u64 longest_warps = 0, longest_block = 0,
      longest_warp = 0;        // instructions: of each block's longest warp, summed; of the longest block; of the longest warp
  std::vector<Counts> counts;  // by pc
  std::unordered_map<u32, std::array<Updates, 96>> updates;  // of global atomics, by pc and slice
  std::unique_ptr<Cache> l1, l2;
  u64 block = UINT64_MAX;          // whose lines the L1 holds
  std::vector<u64> read, written;  // bitmaps over the sectors of device memory
  Sampled sampled;
};

Profile* profile_of(const Program& program, const Launch& launch);
void profile_launch_done(const Program& program, const Launch& launch, const LaunchState& state);
void profile_access(Warp& w, const Instr& i, const u64* address, u32 lanes, AccessSpace space);
void profile_row(Warp& w, const Instr& i, u64 first, AccessSpace space);  // 32 lanes side by side
void profile_block_done(const Block& b);
void write_profiles();
void write_instructions(const Profile& p);

inline void profile_count(Warp& w, const Instr& i, u32 group, u32 active) {
  Counts& c = w.context->profile->counts[i.pc];
  ++c.executed;
  c.lanes += static_cast<u64>(__builtin_popcount(active));
  c.issued += static_cast<u64>(__builtin_popcount(group));
  c.divergent += i.control == Control::branch && active != 0 && active != group;
}

}  // namespace cudanalyst
