// A launch: refused, or run to its end, its error, or the watchdog.
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <thread>

#include "../check/check.hpp"
#include "../check/order.hpp"
#include "../module/module.hpp"
#include "../prof/profile.hpp"
#include "../prof/sample.hpp"

namespace cudanalyst {
namespace {

constexpr u64 warp_quantum = 100000, profiled_quantum = 64, block_quantum = 2000000, shared_quantum = 20000;
constexpr size_t deep_stack = 65536;

std::string numbers(const Dim3& d) {
  char text[64];
  std::snprintf(text, sizeof text, "[%u,%u,%u]", d.x, d.y, d.z);
  return text;
}

u64 mix(u64 x) {  // splitmix64
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

u8* map_lazy(size_t bytes) {
  void* at = ::mmap(nullptr, std::max<size_t>(bytes, 4096), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? nullptr : static_cast<u8*>(at);
}

// The blocks that one OS thread keeps resident.
class Worker {
 public:
  explicit Worker(LaunchState& launch) : launch_(launch) {
    c_.launch = &launch;
    c_.program = launch.program;
    c_.bounds.resize(launch.program->caches + 1);
    const memory::Layout& l = memory::layout();
    c_.delta = l.delta;
    c_.shared_window = l.shared_window;
    c_.local_window = l.local_window;
    c_.checks = config().mode == Mode::check ? config().checks : 0;
    c_.profile = config().mode == Mode::profile ? profile_of(*launch.program, launch.launch) : nullptr;
    c_.observing = (c_.checks & (racecheck | initcheck | synccheck)) || c_.profile;
    u32 highest = 0;
    for (const auto& f : launch.program->functions) highest = std::max(highest, f->source->number);
    c_.free_frames.resize(highest + 1);
  }
  ~Worker() {
    for (const auto& [at, bytes] : maps_) ::munmap(at, std::max<size_t>(bytes, 4096));
  }

  void run() {
    const bool together = launch_.launch.cooperative || launch_.program->unit == nullptr;
    const u64 limit = (together ? launch_.blocks : 2048) / launch_.cluster_blocks + 1;
    if (together)
      while (active_.size() < limit && start_cluster(nullptr)) {}
    else start_cluster(nullptr);
    while (!active_.empty() && !launch_.stop) {
      bool waiting = false, progress = false;
      for (size_t k = 0; k < active_.size() && !launch_.stop;) {
        const bool more = run_cluster(*active_[k], progress);
        if (launch_.stop) return;
        if (!more && !start_cluster(active_[k])) {
          active_.erase(active_.begin() + static_cast<long>(k));
          continue;
        }
        waiting |= more;
        ++k;
      }
      if (!progress) {
        report_stuck(c_, resident(), true);
        return;
      }
      // Blocks that do not end may wait for blocks that have not begun.
      if (waiting && active_.size() < limit) start_cluster(nullptr);
    }
  }

 private:
  // The blocks of a cluster start together; nearly always it is one.
  bool start_cluster(Cluster* c) {
    Sampler* const sampler = launch_.sampler;
    if (sampler && !sampler->ready()) return false;
    u64 number = launch_.next_block.fetch_add(1);
    if (number * launch_.cluster_blocks >= launch_.blocks || launch_.stop) return false;
    if (sampler) {
      const auto chosen = sampler->next();
      if (!chosen) return false;
      number = *chosen;
    }
    if (!c) {
      clusters_.push_back(std::make_unique<Cluster>());
      c = clusters_.back().get();
      for (u32 rank = 0; rank < launch_.cluster_blocks; ++rank) {
        blocks_.push_back(std::make_unique<Block>());
        Block* b = blocks_.back().get();
        create(*b);
        b->cluster = c;
        b->rank = rank;
        c->blocks.push_back(b);
      }
      active_.push_back(c);
    }
    c->arrived = 0;
    c->arriving.reset();
    c->passed.reset();
    const Dim3 g = launch_.launch.grid, s = launch_.launch.cluster;
    const u64 across = g.x / s.x, down = g.y / s.y;
    for (Block* b : c->blocks) {
      b->index = {static_cast<u32>(number % across) * s.x + b->rank % s.x, static_cast<u32>(number / across % down) * s.y + b->rank / s.x % s.y,
                  static_cast<u32>(number / across / down) * s.z + b->rank / s.x / s.y};
      b->number = b->index.x + u64{g.x} * (b->index.y + u64{g.y} * b->index.z);
      begin(*b);
    }
    if (c_.checks & racecheck) race_start_cluster(c->blocks);
    return true;
  }

  // False when all its blocks have ended.
  bool run_cluster(Cluster& c, bool& progress) {
    bool more = false;
    for (Block* b : c.blocks) {
      if (b->done) continue;
      const u64 before = b->executed;
      b->done = !run_block(*b, active_.size() * c.blocks.size() > 1 ? shared_quantum : block_quantum);
      if (launch_.stop) return true;
      progress |= b->done || b->executed != before;
      if (b->done && (c_.checks & racecheck)) race_block_end(*b);
      if (b->done && c_.profile) {
        profile_block_done(*b);
        u64 executed = 0;
        for (const Warp& w : b->warps) executed += w.executed;
        if (launch_.sampler) launch_.sampler->block_done(b->number, executed);
      }
      more |= !b->done;
    }
    return more;
  }

  std::vector<Block*> resident() const {
    std::vector<Block*> result;
    for (const Cluster* c : active_)
      for (Block* b : c->blocks)
        if (!b->done) result.push_back(b);
    return result;
  }

  void create(Block& b) {
    const Dim3 n = launch_.launch.block;
    const Program& p = *launch_.program;
    b.context = &c_;
    b.threads = n.x * n.y * n.z;
    const u32 warps = (b.threads + 31) / 32;
    b.shared_bytes = p.static_shared + launch_.launch.dynamic_shared_bytes;
    if (p.reserved_shared) b.shared_bytes = (b.shared_bytes + 127) / 128 * 128 + reserved_shared_bytes;
    const size_t room = (b.shared_bytes + 63) / 64 * 64;
    b.shared = map(room);
    b.local_stride =
        (16 + (p.has_calls ? p.functions[0]->local_bytes + std::max(deep_stack, device_limits().stack_bytes) : p.functions[0]->local_bytes) + 15) &
        ~size_t{15};
    b.local = map(b.local_stride * warps * 32);
    if (c_.checks & initcheck) {
      b.shared_init.resize(room);
      b.local_init = map(b.local_stride * warps * 32);
    }
    if (c_.checks & racecheck) b.shared_race.resize(room * 2);
    if (c_.checks & (racecheck | synccheck)) b.shared_pending.resize(room);
    b.warps = std::vector<Warp>(warps);
    for (u32 k = 0; k < warps; ++k) {
      Warp& w = b.warps[k];
      w.context = &c_;
      w.block = &b;
      w.id = k;
      b.order.push_back(k);
    }
  }

  void begin(Block& b) {
    b.live_threads = b.threads;
    b.executed = 0;
    b.next_warp = 0;
    b.done = false;
    for (Barrier& bar : b.barriers) bar = Barrier{};
    if (!b.shared_init.empty()) std::fill(b.shared_init.begin(), b.shared_init.end(), 0);
    if (launch_.program->reserved_shared) {  // the system clears it, and cooperative groups count on that
      const size_t from = b.shared_bytes - reserved_shared_bytes;
      std::memset(b.shared + from, 0, reserved_shared_bytes);
      if (!b.shared_init.empty()) std::memset(b.shared_init.data() + from, 1, reserved_shared_bytes);
    }
    if (!b.shared_pending.empty()) std::fill(b.shared_pending.begin(), b.shared_pending.end(), 0);
    b.pending_total = 0;
    if (b.local_init)
      for (u32 t = 0; t < b.warps.size() * 32; ++t) {
        u8* at = b.local_init + t * b.local_stride;
        if (!launch_.program->has_calls) std::memset(at, 0, b.local_stride);
        else std::memset(at, 0, std::min<size_t>(b.local_stride, launch_.program->functions[0]->local_bytes + 4096));
      }
    for (Warp& w : b.warps) {
      for (Frame*& f : w.frames) f = nullptr;
      if (w.frame) {  // frames of the block before
        Frame* root = w.root_frame;
        release_tree(w, root);
      }
      Frame* f = enter_frame(w, nullptr, 0, launch_.program->functions[0].get());
      w.root_frame = w.frame = f;
      w.registers = f->registers;
      const u32 count = std::min(32u, b.threads - w.id * 32);
      w.all = w.live = count == 32 ? UINT32_MAX : (1u << count) - 1;
      w.blocked = w.waiting_sync = 0;
      w.executed = 0;
      w.rotate = w.spinning = w.event = false;
      w.pending.clear();
      w.barriers_passed = 0;
      w.cluster_arrived = w.cluster_passed = w.cluster_waiting = 0;
      std::fill(std::begin(w.dynamic_local), std::end(w.dynamic_local), 0);
      f->lanes = w.all;
      for (u32 l = 0; l < 32; ++l) {
        w.pc[l] = 0;
        w.frames[l] = f;
        w.open_group[l] = 0;
        w.last_store[l] = none;
      }
    }
    if (config().seed) {
      u64 state = config().seed * 0x9e3779b97f4a7c15ull + b.number;
      for (u32 k = static_cast<u32>(b.order.size()); k > 1; --k) {
        state = mix(state);
        std::swap(b.order[k - 1], b.order[state % k]);
      }
      random_ = state;
    }
    if (c_.checks & synccheck) sync_start_block(b);
  }

  void release_tree(Warp& w, Frame* f) {
    while (!f->children.empty()) release_tree(w, f->children.back());
    f->lanes = 0;
    leave_frame(w, f, UINT32_MAX);
  }

  // False when the block has ended.
  bool run_block(Block& b, u64 quantum) {
    const u64 end = b.executed + quantum;
    while (b.executed < end) {
      bool progress = false;
      bool spinning = true;
      for (const u32 k : b.order) {
        Warp& w = b.warps[k];
        if (!(w.live & ~w.blocked)) continue;
        u64 budget = c_.profile ? profiled_quantum : warp_quantum;  // caches see the warps of a block side by side
        if (config().seed) budget = 64 + (random_ = mix(random_)) % 4096;
        const u64 before = w.executed;
        const WarpState state = run_warp(w, budget);
        progress = true;
        spinning &= state == WarpState::ready && w.spinning;
        const u64 total = launch_.executed.fetch_add(w.executed - before) + (w.executed - before);
        if (!launch_.dependent.empty() && total > config().sample_budget && !launch_.stop) {
          refuse_sampling();
          return true;
        }
        if (config().max_warp_instructions && total > config().max_warp_instructions && !launch_.stop) {
          report_stuck(c_, resident(), false);
          return true;
        }
        if (launch_.stop) return true;
      }
      if (b.live_threads == 0) return false;
      if (!progress) {
        if (resolve_waits(b)) continue;
        return true;  // only another block could help, and blocks share no barrier: the caller sees no progress
      }
      if (spinning && (active_.size() > 1 || b.cluster->blocks.size() > 1 || launch_.next_block * launch_.cluster_blocks < launch_.blocks))
        return true;
    }
    return true;
  }

  void refuse_sampling() {
    std::string json = "{\"type\":\"sampling_refused\",\"kernel\":";
    append_json_string(json, launch_.program->kernel);
    json += ",\"reason\":";
    append_json_string(json, launch_.dependent);
    report_line(json + "}");
    launch_.error = launch_timeout;
    launch_.stop = true;
  }

  // bar.warp.sync may be reached at different places: release lanes whose whole mask waits at some bar.warp.sync.
  bool resolve_waits(Block& b) {
    bool released = false;
    for (Warp& w : b.warps) {
      u32 at_barrier = 0;
      u32 member[32] = {};
      for (u32 rest = w.waiting_sync; rest; rest &= rest - 1) {
        const u32 l = static_cast<u32>(__builtin_ctz(rest));
        const Instr& i = launch_.program->code[w.pc[l]];
        if (i.mix != MixClass::barrier || i.e == none) continue;
        at_barrier |= 1u << l;
        member[l] = reinterpret_cast<const u32*>(w.frames[l]->registers + i.e)[l];
      }
      u32 ready = 0;
      for (u32 l = 0; l < 32; ++l)
        if (at_barrier >> l & 1 && !(member[l] & w.live & ~at_barrier)) ready |= 1u << l;
      if (!ready) continue;
      for (u32 l = 0; l < 32; ++l) w.pc[l] += ready >> l & 1;
      w.waiting_sync &= ~ready;
      w.blocked &= ~ready;
      if (c_.checks & racecheck) race_warp_sync(w, ready);
      released = true;
    }
    return released;
  }

  u8* map(size_t bytes) {
    u8* at = map_lazy(bytes);
    if (at) maps_.push_back({at, bytes});
    return at;
  }

  LaunchState& launch_;
  Context c_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<std::unique_ptr<Cluster>> clusters_;
  std::vector<Cluster*> active_;
  std::vector<std::pair<u8*, size_t>> maps_;
  u64 random_ = 0;
};

std::atomic<u64> launches{0};
std::mutex launch_mutex;

void report_launch(const LaunchState& l) {
  const u64 n = launches.fetch_add(1);
  if (n >= 1000 || config().report_path.empty()) return;
  std::string json = "{\"type\":\"launch\",\"kernel\":";
  append_json_string(json, l.program->kernel);
  json += ",\"symbol\":";
  append_json_string(json, l.program->symbol);
  json += ",\"grid\":" + numbers(l.launch.grid) + ",\"block\":" + numbers(l.launch.block) +
          ",\"shared_bytes\":" + std::to_string(l.program->static_shared + l.launch.dynamic_shared_bytes) +
          ",\"warp_instructions\":" + std::to_string(l.executed.load()) + "}";
  report_line(json);
}

void report_unsupported(const std::string& what, const std::string& name, const std::string& file, u32 line) {
  std::string json = "{\"type\":\"unsupported\",\"what\":";
  append_json_string(json, what);
  json += ",\"name\":";
  append_json_string(json, name);
  json += ",\"file\":";
  append_json_string(json, file);
  json += ",\"line\":" + std::to_string(line) + ",\"message\":";
  append_json_string(
      json, "The CPU engine does not have this instruction, so the kernel was not run; write it without the instruction, or run it on a GPU");
  report_line(json + "}");
}

}  // namespace

u64 launches_made() { return launches.load(); }

Dim3 thread_index(const Warp& w, u32 lane) {
  const Dim3 n = w.context->launch->launch.block;
  const u32 t = w.id * 32 + lane;
  return {t % n.x, t / n.x % n.y, t / n.x / n.y};
}

void run_grid(LaunchState& launch) {
  const bool threads = launch.parallel;
  if (!threads) {
    Worker(launch).run();
    return;
  }
  std::vector<std::thread> workers;
  const u64 n = std::min<u64>(config().threads, launch.blocks / launch.cluster_blocks);
  for (u64 k = 1; k < n; ++k) workers.emplace_back([&launch] { Worker(launch).run(); });
  Worker(launch).run();
  for (auto& t : workers) t.join();
}

namespace {
// The cluster that the launch or the kernel asks for; false where the grid is no multiple of it.
bool cluster_of(const KernelInfo& k, LaunchState& state) {
  Dim3& c = state.launch.cluster;
  const Dim3& g = state.launch.grid;
  if (c.x * c.y * c.z == 1 && k.required_cluster[0]) c = {k.required_cluster[0], k.required_cluster[1], k.required_cluster[2]};
  state.explicit_cluster = c.x * c.y * c.z > 1 || k.required_cluster[0];
  state.cluster_blocks = c.x * c.y * c.z;
  return state.cluster_blocks && state.cluster_blocks <= 16 && g.x % c.x == 0 && g.y % c.y == 0 && g.z % c.z == 0;
}
}  // namespace

Error launch(Kernel& kernel, const Launch& request, const uint8_t* parameters, size_t parameter_bytes) {
  const std::lock_guard lock(launch_mutex);
  Program* program = kernel.program();
  if (!program) {
    report_unsupported("module", kernel.error, "", 0);
    return not_supported;
  }
  if (!program->unsupported.empty()) {
    for (const auto& u : program->unsupported) report_unsupported("instruction", u.what, u.file, u.line);
    return not_supported;
  }
  const u64 threads = u64{request.block.x} * request.block.y * request.block.z;
  const u64 blocks = u64{request.grid.x} * request.grid.y * request.grid.z;
  if (threads == 0 || threads > 1024 || blocks == 0) return invalid_configuration;
  const KernelInfo& k = kernel.info;
  if (k.max_threads && threads > k.max_threads) return k.required_threads[0] ? invalid_value : launch_out_of_resources;
  LaunchState state;
  state.program = program;
  state.launch = request;
  if (!cluster_of(k, state)) return invalid_cluster_size;
  state.blocks = blocks;
  state.parallel = config().mode == Mode::run && config().threads > 1 && blocks > 1;
  const u64 space = memory::layout().base;
  if (parameter_bytes > memory::parameter_bytes) return invalid_value;
  memory::write(space, parameters, parameter_bytes);
  state.parameters = reinterpret_cast<const u8*>(space + memory::layout().delta);
  if (request.cooperative && k.cooperative) {
    state.grid_workspace = memory::allocate(256, memory::Kind::global_variable, "grid synchronisation");
    if (!state.grid_workspace) return out_of_memory;
    const u8 zeros[256] = {};
    memory::write(state.grid_workspace, zeros, sizeof zeros);
  }
  if (order::watching()) order::runs(*program);
  if (config().checks & racecheck) race_start_launch(state);
  std::optional<Sampler> sampler;
  if (config().mode == Mode::profile && config().sample_budget && blocks > Sampler::least_blocks) {
    const std::string why = why_not_sampled(*program, state);
    if (why.empty()) state.sampler = &sampler.emplace(*profile_of(*program, request), blocks, config().sample_budget);
    else state.dependent = why;
  }
  run_grid(state);
  if (config().checks & racecheck) race_end_launch();
  if (state.grid_workspace) memory::release(state.grid_workspace);
  if (config().mode == Mode::profile) {
    Profile& p = *profile_of(*program, request);
    if (sampler && !state.error) sampler->finish();
    note_incomplete(p, sampler && p.sampled.of);
    profile_launch_done(*program, request, state);
  }
  report_launch(state);
  return static_cast<Error>(state.error.load());
}

}  // namespace cudanalyst
