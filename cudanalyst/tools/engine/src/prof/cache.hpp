// A simple model of the caches of an H200: which sectors of an access the L1 of the block's multiprocessor has, and which the L2 has.
#pragma once
#include "../exec/core.hpp"

namespace cudanalyst {

// Lines of 128 bytes with a bit for each sector of 32, in sets of `ways`; the line used longest ago goes.
class Cache {
 public:
  Cache(size_t bytes, u32 ways);
  u32 take(u64 line, u32 sectors);  // which of the line's sectors were there; they are now
  void invalidate(u64 line, u32 sectors);
  void clear();

 private:
  struct Line {
    u64 tag = 0;
    u32 used = 0;
    u8 sectors = 0;
  };
  Line* find(u64 number);
  std::vector<Line> lines_;
  u32 ways_, sets_, now_ = 0;
};

// What a block may hold of the L1: what shared memory leaves, divided by the blocks that fit beside it.
size_t l1_bytes_of_block(u32 threads, size_t shared_bytes);

}  // namespace cudanalyst
