#include "cache.hpp"

#include <algorithm>

namespace cudanalyst {
namespace {

constexpr size_t sm_bytes = size_t{256} << 10, reserved_bytes = size_t{16} << 10, block_reserved = 1024, least_bytes = 4096;
constexpr u32 sm_threads = 2048, sm_blocks = 32;

}  // namespace

Cache::Cache(size_t bytes, u32 ways) : ways_(ways) {
  sets_ = std::max<u32>(1, static_cast<u32>(bytes / 128 / ways));
  lines_.resize(size_t{sets_} * ways_);
}

Cache::Line* Cache::find(u64 number) {
  const u64 mixed = (number * 0x9e3779b97f4a7c15ull) >> 32;  // as hardware does, so that no stride falls into few sets
  Line* set = &lines_[size_t{static_cast<u32>(mixed % sets_)} * ways_];
  Line* oldest = set;
  for (u32 k = 0; k < ways_; ++k) {
    if (set[k].sectors && set[k].tag == number) return &set[k];
    if (!set[k].sectors) oldest = &set[k];
    else if (oldest->sectors && set[k].used < oldest->used) oldest = &set[k];
  }
  oldest->tag = number;
  oldest->sectors = 0;
  return oldest;
}

u32 Cache::take(u64 number, u32 sectors) {
  Line* line = find(number);
  const u32 there = line->sectors & sectors;
  line->sectors = static_cast<u8>(line->sectors | sectors);
  line->used = ++now_;
  return there;
}

void Cache::invalidate(u64 number, u32 sectors) {
  Line* line = find(number);
  line->sectors = static_cast<u8>(line->sectors & ~sectors);
}

void Cache::clear() { std::fill(lines_.begin(), lines_.end(), Line{}); }

size_t l1_bytes_of_block(u32 threads, size_t shared_bytes) {
  const size_t shared = shared_bytes + block_reserved;
  const size_t fit = std::clamp<size_t>(std::min<size_t>(sm_threads / std::max(threads, 64u), (sm_bytes - reserved_bytes) / shared), 1, sm_blocks);
  const size_t taken = fit * shared;
  return std::max(least_bytes, (sm_bytes - std::min(sm_bytes, taken)) / fit);
}

}  // namespace cudanalyst
