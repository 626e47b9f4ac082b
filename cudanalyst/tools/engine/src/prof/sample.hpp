// A profile of a launch that is too large to run: some of its blocks, spread over the grid, stand for all (REPORT.md, CUDANALYST_SAMPLE).
#pragma once
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "profile.hpp"

namespace cudanalyst {

// Why blocks of this launch cannot stand for each other; empty where they can: none waits for another, or decides by what another did.
std::string why_not_sampled(const Program& program, const LaunchState& launch);

class Sampler {
 public:
  // Blocks run until `budget` warp instructions are spent, but at least `least_blocks`; all of them where the first one says that they fit.
  Sampler(Profile& profile, u64 blocks, u64 budget);

  // Whether the next block can be told already: the first decides.
  bool ready() const { return started_ == 0 || done_ > 0; }
  // The number of the next block to run, or nothing where enough have.
  std::optional<u64> next();
  void block_done(u64 number, u64 warp_instructions);
  // Makes the counts of this launch those of all its blocks.
  void finish();

  // Equal parts of the grid, each of which gives one block at random, round after round: what errors by successive differences suppose.
  static constexpr u64 strata = 32, least_blocks = strata + 1;

 private:
  struct Measured {
    u64 number;
    double value[Sampled::quantities];
  };
  void touch_once();
  void totals(double (&into)[Sampled::quantities], u64 warp_instructions) const;

  Profile& p_;
  u64 blocks_, budget_, started_ = 0, done_ = 0, executed_ = 0;
  u64 random_ = 0x2545f4914f6cdd1dull;
  std::unordered_set<u64> taken_;
  bool whole_ = false;
  std::vector<Counts> first_;  // after the first block, which stands for itself
  decltype(Profile::updates) first_updates_;
  u64 first_longest_warps_ = 0;
  std::vector<Measured> measured_;
  double before_[Sampled::quantities] = {};
};

// The launch read what a sampled launch wrote in part, so what it counted may not be what it would do.
void note_incomplete(Profile& p, bool sampled);

}  // namespace cudanalyst
