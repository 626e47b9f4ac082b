// The machine: decoded instructions, warps, blocks, and what one OS thread needs to execute them.
#pragma once
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "../engine.hpp"
#include "../memory/memory.hpp"
#include "../module/ptx.hpp"

namespace cudanalyst {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using s8 = int8_t;
using s16 = int16_t;
using s32 = int32_t;
using s64 = int64_t;

struct Warp;
struct Instr;
struct Block;
struct Context;
struct Program;
using Execute = void (*)(Warp&, const Instr&);

constexpr u32 none = UINT32_MAX;

enum class Scope : u8 { block, cluster, device, system };
enum class Control : u8 { normal, branch, branch_table, call, call_indirect, ret, exit, trap, barrier, warp_sync, yield };
enum class AddressBase : u8 { register64, register32, absolute, frame };
enum class AccessSpace : u8 { global, shared, local, generic, constant };
enum class Access : u8 { none, read, write, atomic };
enum class MixClass : u8 {
  fp32,
  fp64,
  fp16,
  tensor,
  integer,
  special_function,
  conversion,
  predicate,
  control,
  load_global,
  store_global,
  load_shared,
  store_shared,
  load_local,
  store_local,
  load_constant,
  atomic,
  barrier,
  shuffle,
  other,
  count
};

// What nearly every execution reads comes first, in one cache line.
struct alignas(64) Instr {
  Execute fn = nullptr;
  u32 d = none, a = none, b = none, c = none;  // slots: byte offsets in the frame's registers, 32 lanes each
  s32 predicate = -1;
  u32 run = 0;       // instructions from here on that every lane of a group just executes: no guard, no control
  u32 shape = none;  // slot of the Shape of the address register (exec/shape.hpp)
  bool negated = false;
  Control control = Control::normal;
  AddressBase base = AddressBase::absolute;
  AccessSpace space = AccessSpace::global;
  Access access = Access::none;
  u8 bytes = 0;  // of one element in memory
  u8 count = 1;  // elements of a vector
  u8 width = 0;  // bytes of a lane of the register operands of a memory access
  bool strong = false, acquire = false, release = false;
  bool is_volatile = false;     // strong for no other reason
  bool read_only = false;       // through the read-only cache
  bool narrow = false;          // of the scope of a block
  Scope scope = Scope::system;  // of a strong access
  u8 option = 0, option2 = 0;
  MixClass mix = MixClass::other;
  s64 offset = 0;
  u32 cache = 0;   // of the bounds cache
  u32 target = 0;  // pc
  u32 e = none;
  u32 v[8] = {none, none, none, none, none, none, none, none};
  bool apart = false;  // lanes may meet in it from several places: `width` and `bytes` are those of a and d
  const void* more = nullptr;
  s32 location = -1;
  u32 pc = 0;
};

struct CallSite {
  u32 function = none;         // number of the callee, or none for an indirect call
  std::vector<u32> arguments;  // frame offsets in the caller
  std::vector<u32> results;
};

struct Constant {
  u32 slot;
  u8 width;
  u64 value;
};
enum class Special : u8 {
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  laneid,
  warpid,
  nwarpid,
  smid,
  nsmid,
  gridid,
  lanemask_eq,
  lanemask_le,
  lanemask_lt,
  lanemask_ge,
  lanemask_gt,
  dynamic_smem_size,
  total_smem_size,
  zero,
  one,
  envreg1,
  envreg2,
  clusterid_x,
  clusterid_y,
  clusterid_z,
  nclusterid_x,
  nclusterid_y,
  nclusterid_z,
  cluster_ctaid_x,
  cluster_ctaid_y,
  cluster_ctaid_z,
  cluster_nctaid_x,
  cluster_nctaid_y,
  cluster_nctaid_z,
  cluster_ctarank,
  cluster_nctarank,
  is_explicit_cluster,
  reserved_smem_begin,
  reserved_smem_1,
  reserved_smem_2,
  reserved_smem_end
};
struct SpecialSlot {
  u32 slot;
  Special what;
  u8 width;
};

// A function within a program.
struct Code {
  const ptx::Function* source = nullptr;
  u32 entry = 0, end = 0;  // pcs
  u32 register_bytes = 0, local_bytes = 0;
  std::vector<u32> parameter_offset, parameter_bytes, result_offset, result_bytes;  // in the frame
  std::vector<Constant> constants;
  std::vector<SpecialSlot> specials;
};

struct Place {  // of an instruction in the source
  std::string file;
  u32 line = 0;
  std::vector<std::pair<std::string, u32>> inlined_at;
};

// What a kernel can reach, decoded and laid out.
struct Program {
  ptx::Unit* unit = nullptr;
  std::string kernel, symbol;
  std::vector<Instr> code;
  std::vector<std::unique_ptr<Code>> functions;  // [0] is the kernel
  std::unordered_map<u32, Code*> by_number;
  std::vector<std::unique_ptr<CallSite>> calls;
  std::vector<std::unique_ptr<Instr>> inner;
  std::vector<std::unique_ptr<void, void (*)(void*)>> owned;  // what instructions point to
  std::vector<std::unique_ptr<std::vector<u32>>> tables;
  std::vector<std::unique_ptr<std::string>> names;  // opcodes that stand for parts of others
  u32 caches = 0;
  size_t static_shared = 0;
  bool reserved_shared = false;  // uses what the system keeps of shared memory
  bool has_calls = false;        // or alloca: threads have a stack
  struct Unsupported {
    std::string what;
    std::string file;
    u32 line;
  };
  std::vector<Unsupported> unsupported;
  Place place(const Instr& i) const;
  const Code* function_at(u32 pc) const;
};

struct Frame {
  u8* registers = nullptr;
  const Code* code = nullptr;
  Frame* parent = nullptr;
  u32 call_pc = 0, lanes = 0, depth = 0;
  u64 local = 0;         // offset of the frame in a thread's local memory
  u32 dynamic[32] = {};  // Warp::dynamic_local when the lane came in
  std::vector<Frame*> children;
};

struct AsyncCopy {
  u32 lane;
  u32 shared;  // destination
  u8 bytes;
  u32 group;  // commit group it belongs to
  const Instr* instr;
  u8 data[16];
};

struct Warp {
  u8* registers = nullptr;  // of the current frame
  u32 mask = 0;             // lanes that execute the current instruction
  u32 live = 0, blocked = 0, waiting_sync = 0;
  Frame* frame = nullptr;
  Block* block = nullptr;
  Context* context = nullptr;
  u32 id = 0, all = 0;
  u32 pc[32] = {};
  Frame* frames[32] = {};
  u64 executed = 0;
  u32 cursor = 0;  // lane after which rotation continues
  bool rotate = false, spinning = false, event = false;
  Frame* root_frame = nullptr;
  std::vector<AsyncCopy> pending;
  u32 open_group[32] = {};  // commit groups closed so far, per lane
  // Barriers.
  u32 barrier_pc[32] = {};
  u8 barrier_id[32] = {};
  u32 dynamic_local[32] = {};                                        // bytes at the end of local memory that alloca has given out
  u32 cluster_arrived = 0, cluster_passed = 0, cluster_waiting = 0;  // lanes at the barrier of the cluster (exec/cluster.cpp)
  // Checks.
  u32 clock[32] = {}, warp_floor[32] = {}, block_floor[32] = {}, fence_clock[32] = {};
  bool together = false;  // clocks and floors of all lanes are known to be alike
  u32 last_store[32] = {};
  u32 cluster_clock[32] = {};  // at the arrival at the cluster's barrier
  u32 barriers_passed = 0;
  std::shared_ptr<struct Knowledge> known[32], fenced[32], fenced_narrow[32];
};

struct Barrier {
  std::vector<u32> arrived;  // lanes by warp, blocked ones
  u32 expected = 0;          // threads; 0: all
  u32 count = 0;             // threads arrived, arrive included
  u32 reduction = 0;         // threads whose predicate was true
  bool active = false;
  std::vector<u32> passing;                  // of those that arrived, who does not wait
  std::shared_ptr<struct Knowledge> handed;  // what they knew (racecheck)
};

struct Cluster;

struct Block {
  Context* context = nullptr;
  Cluster* cluster = nullptr;  // of one block where the launch has no clusters
  u32 rank = 0;                // in the cluster
  Dim3 index;
  u64 number = 0;  // linear
  std::vector<Warp> warps;
  u32 threads = 0, live_threads = 0;
  u8* shared = nullptr;
  size_t shared_bytes = 0;
  u8* local = nullptr;
  size_t local_stride = 0;
  Barrier barriers[16];
  u64 executed = 0;
  u32 next_warp = 0;
  bool done = true;
  std::vector<u32> order;
  // Checks.
  std::vector<u8> shared_init;
  std::vector<u32> shared_race;    // eight words per four bytes (check/race.cpp)
  std::vector<u8> shared_pending;  // cp.async in flight, per byte
  u8* local_init = nullptr;
  u32 pending_total = 0;
  u32 clock_base = 0;
  bool knowledge = false;                    // some lane has Warp::known or Warp::fenced
  std::shared_ptr<struct SplitCells> split;  // of shared_race
  std::shared_ptr<struct SyncState> sync;
  std::shared_ptr<struct RemoteAccesses> remote;  // by other blocks of the cluster to this one's shared memory
};

// Blocks that run together and reach each other's shared memory.
struct Cluster {
  std::vector<Block*> blocks;                          // by rank
  u32 arrived = 0;                                     // threads at the barrier, exited ones included
  std::shared_ptr<struct Knowledge> arriving, passed;  // what the last and the present phase of the barrier hand on
};

constexpr u32 reserved_shared_bytes = 1024;  // behind the rest of a block's shared memory

class Sampler;

struct LaunchState {
  const Program* program = nullptr;
  Launch launch;
  const u8* parameters = nullptr;  // engine's view
  u64 blocks = 0;
  u32 cluster_blocks = 1;          // blocks per cluster
  bool explicit_cluster = false;   // a size of clusters was given
  std::atomic<u64> next_block{0};  // with clusters: the next cluster
  std::atomic<u64> executed{0};
  std::atomic<bool> stop{false};
  std::atomic<int> error{0};
  std::mutex mutex;
  bool parallel = false;
  u64 grid_workspace = 0;      // of grid-wide sync
  bool concurrent = false;     // some earlier operation of another stream does not come before (racecheck)
  u32 clock_begin = 0;         // accesses with an earlier clock belong to earlier operations, and
  u32 clock_floor = 0;         // accesses with an earlier clock belong to earlier launches
  Sampler* sampler = nullptr;  // of a profile that may run a part of the blocks
  std::string dependent;       // why it must not, where the launch is larger than a profile may run
};

struct Profile;

// Per OS thread.
struct Context {
  LaunchState* launch = nullptr;
  const Program* program = nullptr;
  std::vector<memory::Bounds> bounds;
  u64 delta = 0, shared_window = 0, local_window = 0;
  unsigned checks = 0;
  bool observing = false;  // checks or profile
  Block* owner = nullptr;  // whose shared memory is observed, where it is not the block's own
  Profile* profile = nullptr;
  std::vector<std::vector<Frame*>> free_frames;  // by function
  std::vector<std::unique_ptr<Frame>> all_frames;
  std::vector<std::unique_ptr<u8[]>> storage;
  u64 clock_now = 0;
};

template <class T>
inline T* reg(Warp& w, u32 slot) {
  return reinterpret_cast<T*>(w.registers + slot);
}

// exec/
void run_grid(LaunchState& launch);
Frame* enter_frame(Warp& w, Frame* parent, u32 call_pc, const Code* code);
void leave_frame(Warp& w, Frame* frame, u32 lanes);
void start_warp(Warp& w);
enum class WarpState { ready, blocked, finished, stopped };
WarpState run_warp(Warp& w, u64 budget);
void barrier_arrive(Warp& w, const Instr& i, u32 lanes, u32 id, u32 expected, bool wait);
void barrier_check_all(Block& b);
bool barrier_try_complete(Block& b, u32 id);
void cluster_arrive(Warp& w, const Instr& i, u32 lanes, bool release);
void cluster_wait(Warp& w, const Instr& i, u32 lanes);
void cluster_lanes_exit(Warp& w, u32 lanes);
void report_stuck(Context& c, const std::vector<Block*>& blocks, bool deadlock);
void lanes_exit(Warp& w, u32 lanes);
void async_complete(Warp& w, u32 lane, u32 groups);  // copies of the first `groups` commit groups arrive
bool builtin_call(Warp& w, const Instr& i, std::string_view name, u32 lanes);
bool is_builtin(std::string_view name);

// The launch ends with an error; the first one counts.
void fault(Warp& w, const Instr& i, Error code, const std::string& message, u32 lane);
const char* error_name(int code);
std::string launch_json_place(const Program& p, const Instr& i);
Dim3 thread_index(const Warp& w, u32 lane);

}  // namespace cudanalyst
