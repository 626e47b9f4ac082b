// Addresses of shared memory within a cluster. A block's own shared memory starts at 0; that of the block with rank r, for every block of
// the cluster, at (r + 1) << 24.
#pragma once
#include "core.hpp"

namespace cudanalyst {

constexpr u32 rank_shift = 24;
constexpr u64 rank_offset = (u64{1} << rank_shift) - 1;

inline u64 cluster_address(u64 address, u32 rank) { return (address & rank_offset) | u64{rank + 1} << rank_shift; }
// The rank that an address names; the own one for an address that names none.
inline u32 rank_of(const Block& b, u64 address) { return address >> rank_shift ? static_cast<u32>(address >> rank_shift) - 1 : b.rank; }
// The block of the cluster with that rank, or nullptr.
inline Block* block_of_rank(Block& b, u32 rank) { return rank < b.cluster->blocks.size() ? b.cluster->blocks[rank] : nullptr; }

}  // namespace cudanalyst
