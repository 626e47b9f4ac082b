// The four checks: what they are told, and how they report.
#pragma once
#include <string>

#include "../exec/core.hpp"
#include "../exec/shape.hpp"

namespace cudanalyst {

struct Finding {
  std::string check, kind, space, address, message;
  u32 size = 0;
  // The other side of a race or barrier.
  std::string other_access;
  const Instr* other = nullptr;
  const Program* other_program = nullptr;  // of another launch; else of this
  u64 other_thread = UINT64_MAX;           // linear in the grid
};

// Writes the finding when it is the first with its instruction and kind; counts it otherwise.
void report_finding(Warp& w, const Instr& i, u32 lane, const Finding& f);
void write_finding_counts();
void report_leaks();  // what is still allocated

// racecheck: ordering.
void race_start_block(Block& b);
// `handed`: what threads knew that arrived without waiting, gathered by race_arrive.
void race_barrier(Block& b, const std::vector<u32>& arrived, bool whole_block, const std::shared_ptr<Knowledge>& handed);
void race_arrive(Warp& w, u32 lanes, std::shared_ptr<Knowledge>& handed);
void race_warp_sync(Warp& w, u32 lanes);
void race_fence(Warp& w, u32 lanes, bool narrow);
void race_start_cluster(const std::vector<Block*>& blocks);
void race_cluster_arrive(Warp& w, u32 lanes, bool release);
void race_cluster_complete(Cluster& c);
void race_cluster_wait(Warp& w, u32 lanes);
void race_block_end(Block& b);
// A strong access to a location: release publishes, acquire takes over what was published there. `narrow`: among threads of the block alone.
void race_synchronise(Warp& w, u32 lane, u64 key, bool release, bool acquire, bool full_release, bool narrow);
// An mbarrier's phase is over: what arrivals published goes to those who wait for it, under key | 1.
void race_phase_completed(u64 key);
void race_access(Warp& w, const Instr& i, const u64* address, u32 lanes, AccessSpace space);
void race_eights(Warp& w, const Instr& i, const Eights& e, AccessSpace space);
void race_row(Warp& w, const Instr& i, u64 first, AccessSpace space);
// By a copy or fill, the operation in progress: against what other streams did.
void race_host_access(u64 address, u64 bytes, bool writes);
void race_async_write(Warp& w, const Instr& i, u32 lane, u32 offset, u32 bytes);
void race_start_launch(LaunchState& l);
void race_end_launch();

void init_access(Warp& w, const Instr& i, const u64* address, u32 lanes, AccessSpace space);
void init_eights(Warp& w, const Instr& i, const Eights& e, AccessSpace space);
void init_row(Warp& w, const Instr& i, u64 first, AccessSpace space);
void pending_access(Warp& w, const Instr& i, const u64* address, u32 lanes);

void sync_barrier_completed(Block& b, u32 id, const Instr& i);
void sync_start_block(Block& b);
void sync_lanes_exit(Warp& w, u32 lanes);
void sync_store(Warp& w, const Instr& i, u32 lanes);
// A barrier that cannot be used like this; `other`, where it is not null, is what it disagrees with.
void sync_bad_barrier(Warp& w, const Instr& i, u32 lane, const std::string& message, const Instr* other = nullptr, u64 thread = UINT64_MAX);
enum class MbarrierUse : u8 { init, inval, arrive, test, test_parity };
struct MbarrierState {
  u64 pending, phase;
};
// `at`: where the engine has it. `count`: of init and arrive; for test: the phase of the state that is waited for.
void sync_mbarrier(Warp& w, const Instr& i, u32 lane, u64 at, MbarrierUse use, u64 count, const MbarrierState& before);
bool sync_has_mbarriers(const Block& b);
void sync_shared_store(Warp& w, const Instr& i, const u64* address, u32 lanes, Block& owner);
void sync_bad_mask(Warp& w, const Instr& i, u32 lane, u32 mask, u32 bad, const char* why);

}  // namespace cudanalyst
