// The barrier of a cluster: barrier.cluster.arrive and .wait.
#include "cluster.hpp"

#include "../check/check.hpp"

namespace cudanalyst {
namespace {

// Everybody who has not exited has arrived: those who wait go on, the others find it so when they come to wait.
void try_complete(Cluster& c) {
  if (!c.arrived) return;
  u32 live = 0;
  for (const Block* b : c.blocks) live += b->live_threads;
  if (c.arrived < live || !live) return;
  for (const Block* b : c.blocks)
    for (const Warp& w : b->warps)
      if (w.live & ~w.cluster_arrived) return;
  Context& context = *c.blocks.front()->context;
  if (context.checks & racecheck) race_cluster_complete(c);
  c.arrived = 0;
  for (Block* b : c.blocks)
    for (Warp& w : b->warps) {
      const u32 waiting = w.cluster_waiting;
      w.cluster_passed |= w.cluster_arrived & ~waiting;
      w.cluster_arrived = w.cluster_waiting = 0;
      w.blocked &= ~waiting;
      if (waiting && (context.checks & racecheck)) race_cluster_wait(w, waiting);
    }
}

}  // namespace

void cluster_arrive(Warp& w, const Instr& i, u32 lanes, bool release) {
  if (const u32 twice = lanes & (w.cluster_arrived | w.cluster_passed)) {
    const u32 lane = static_cast<u32>(__builtin_ctz(twice));
    fault(w, i, launch_failure, "A thread arrives at the barrier of the cluster again before it has waited there", lane);
    return;
  }
  Cluster& c = *w.block->cluster;
  w.cluster_arrived |= lanes;
  c.arrived += static_cast<u32>(__builtin_popcount(lanes));
  if (w.context->checks & racecheck) race_cluster_arrive(w, lanes, release);
  try_complete(c);
}

void cluster_wait(Warp& w, const Instr& i, u32 lanes) {
  if (const u32 without = lanes & ~(w.cluster_arrived | w.cluster_passed)) {
    const u32 lane = static_cast<u32>(__builtin_ctz(without));
    fault(w, i, launch_failure, "A thread waits at the barrier of the cluster without having arrived there", lane);
    return;
  }
  const u32 passed = lanes & w.cluster_passed, wait = lanes & ~passed;
  w.cluster_passed &= ~passed;
  if (passed && (w.context->checks & racecheck)) race_cluster_wait(w, passed);
  w.cluster_waiting |= wait;
  w.blocked |= wait;
  for (u32 rest = wait; rest; rest &= rest - 1) w.barrier_id[__builtin_ctz(rest)] = 0xff;
}

void cluster_lanes_exit(Warp& w, u32 lanes) {
  Cluster& c = *w.block->cluster;
  c.arrived -= static_cast<u32>(__builtin_popcount(w.cluster_arrived & lanes));
  w.cluster_arrived &= ~lanes;
  w.cluster_passed &= ~lanes;
  try_complete(c);
}

}  // namespace cudanalyst
