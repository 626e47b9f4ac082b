#include "profile.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

namespace cudanalyst {
namespace {

constexpr size_t l2_bytes = size_t{50} << 20;
constexpr u64 l2_slices = 96;  // as which updates of one address add up on an H200

constexpr const char* mix_names[] = {"fp32",         "fp64",       "fp16",        "tensor",        "integer",      "special_function",
                                     "conversion",   "predicate",  "control",     "load_global",   "store_global", "load_shared",
                                     "store_shared", "load_local", "store_local", "load_constant", "atomic",       "barrier",
                                     "shuffle",      "other"};

std::vector<std::unique_ptr<Profile>>& all() {
  static auto* instance = new std::vector<std::unique_ptr<Profile>>;
  return *instance;
}

bool same(const Launch& a, const Launch& b) {
  const auto equal = [](const Dim3& x, const Dim3& y) { return x.x == y.x && x.y == y.y && x.z == y.z; };
  return equal(a.grid, b.grid) && equal(a.block, b.block) && a.dynamic_shared_bytes == b.dynamic_shared_bytes;
}

// Lines of 128 bytes with a bit for each of their four sectors.
void mark(std::vector<u64>& bitmap, u64 line, u32 sectors) {
  if (bitmap.size() <= line / 16) bitmap.resize(std::max<size_t>(line / 16 + 1, bitmap.size() * 2));
  bitmap[line / 16] |= u64{sectors} << (line % 16 * 4);
}

u32 marks(const std::vector<u64>& bitmap, u64 line) { return line / 16 < bitmap.size() ? bitmap[line / 16] >> (line % 16 * 4) & 15 : 0; }

u64 marked(const std::vector<u64>& bitmap) {
  u64 n = 0;
  for (const u64 word : bitmap) n += static_cast<u64>(__builtin_popcountll(word));
  return n;
}

// Whether every lane reads what its neighbour (lane ^ distance) reads.
bool neighbours_share(const u64* address, u32 lanes, u32 distance) {
  for (u32 l = 0; l < 32; ++l)
    if ((lanes >> l & 1) && (lanes >> (l ^ distance) & 1) && address[l] != address[l ^ distance]) return false;
  return true;
}

// Wavefronts of a shared access: the most distinct words in one bank, for each part of the warp that the hardware serves at once
// (32 lanes at up to 4 bytes, 16 at 8, 8 at 16; twice that where neighbours share a wide word, as measured on an H200).
void shared_wavefronts(const Instr& i, const u64* address, u32 lanes, Counts& c) {
  const u32 size = u32{i.bytes} * i.count;
  u32 at_once = size <= 4 ? 32 : size == 8 ? 16 : 8;
  if (size > 4 && i.access == Access::read && (neighbours_share(address, lanes, 1) || neighbours_share(address, lanes, 2))) at_once *= 2;
  for (u32 from = 0; from < 32; from += at_once) {
    u32 seen[32][32], words = 0, most = 0;
    u8 in_bank[32] = {};
    for (u32 l = from; l < from + at_once; ++l) {
      if (!(lanes >> l & 1)) continue;
      for (u32 k = 0; k < std::max(size, 4u); k += 4) {
        const u32 word = static_cast<u32>(address[l] >> 2) + k / 4, bank = word & 31;
        u32 n = 0;
        while (n < in_bank[bank] && seen[bank][n] != word) ++n;
        if (n < in_bank[bank]) continue;
        seen[bank][n] = word;
        ++words;
        most = std::max<u32>(most, ++in_bank[bank]);
      }
    }
    c.wavefronts += most;
    c.ideal += (words + 31) / 32;
  }
}

// How far the lanes of an atomic meet at one address, and what the slices of the L2 have to do one after the other.
void count_updates(Profile& p, const Instr& i, const u64* address, u32 lanes, AccessSpace space) {
  u64 at[32];
  size_t n = 0;
  for (u32 rest = lanes; rest; rest &= rest - 1) at[n++] = address[__builtin_ctz(rest)];
  std::sort(at, at + n);
  Counts& c = p.counts[i.pc];
  u64 most = 0, in_sector = 0;
  for (size_t from = 0, to; from < n; from = to) {
    for (to = from; to < n && at[to] == at[from];) ++to;
    ++c.addresses;
    most = std::max<u64>(most, to - from);
    if (space != AccessSpace::global) continue;
    const bool first = !from || at[from - 1] >> 5 != at[from] >> 5;
    if (first) in_sector = 0;
    Updates& u = p.updates[i.pc][((at[from] >> 7) * 0x9e3779b97f4a7c15ull >> 40) % l2_slices];
    u.requests += first;
    if (to - from > in_sector) u.lanes += to - from - in_sector, in_sector = to - from;
  }
  c.serial += most;
}

u64 unique(const Profile& p, const std::vector<u64>& bitmap) { return p.sampled.of ? p.sampled.unique(bitmap) : marked(bitmap); }

struct Line {
  u64 executed = 0, lanes = 0, global_requests = 0, global_sectors = 0, shared_requests = 0, wavefronts = 0, ideal = 0, atomics = 0, branches = 0,
      divergent = 0, barriers = 0;
  // By kind, of global memory; of local memory; lanes before predicates; sectors asked of the L2 and of DRAM by the cache model; atomics' lanes that
  // have an address of their own, and those that wait for another of their warp.
  u64 requests[3] = {}, sectors[3] = {}, local_requests = 0, local_sectors = 0, issued = 0, l2_sectors = 0, dram_sectors = 0, addresses = 0,
      serial = 0, shared_atomics = 0;
};

void fields(std::string& json, const Line& l) {
  const auto add = [&](const char* name, u64 v) { json += std::string(",\"") + name + "\":" + std::to_string(v); };
  json += "\"warp_instructions\":" + std::to_string(l.executed);
  add("thread_instructions", l.lanes);
  add("global_requests", l.global_requests);
  add("global_sectors", l.global_sectors);
  add("shared_requests", l.shared_requests);
  add("shared_wavefronts", l.wavefronts);
  add("shared_wavefronts_ideal", l.ideal);
  add("atomics", l.atomics);
  add("branches", l.branches);
  add("divergent_branches", l.divergent);
  add("barriers", l.barriers);
  const char* kinds[] = {"load", "store", "atomic"};
  for (size_t k = 0; k < 3; ++k) {
    add((std::string("global_") + kinds[k] + "_requests").c_str(), l.requests[k]);
    add((std::string("global_") + kinds[k] + "_sectors").c_str(), l.sectors[k]);
  }
  add("shared_atomics", l.shared_atomics);
  add("local_requests", l.local_requests);
  add("local_sectors", l.local_sectors);
  add("issued_lanes", l.issued);
  add("l2_sectors", l.l2_sectors);
  add("dram_sectors", l.dram_sectors);
  add("atomic_addresses", l.addresses);
  add("atomic_serial", l.serial);
}

void sampled_fields(std::string& json, const Profile& p) {
  const Sampled& s = p.sampled;
  if (s.after) json += ",\"after_sampled\":true";
  if (!s.of) return;
  json += ",\"sampled\":{\"blocks\":" + std::to_string(s.blocks) + ",\"of\":" + std::to_string(s.of);
  constexpr const char* names[] = {"warp_instructions", "global_sectors", "shared_wavefronts"};
  for (size_t q = 0; q < Sampled::quantities; ++q)
    json += std::string(",\"") + names[q] + "_standard_error\":" + std::to_string(std::llround(std::sqrt(s.variance[q])));
  json += "}";
}

}  // namespace

Profile* profile_of(const Program& program, const Launch& launch) {
  for (auto& p : all())
    if (p->program == &program && same(p->launch, launch)) return p.get();
  auto made = std::make_unique<Profile>();
  made->program = &program;
  made->launch = launch;
  made->counts.resize(program.code.size());
  const Dim3& n = launch.block;
  made->l1 = std::make_unique<Cache>(l1_bytes_of_block(n.x * n.y * n.z, program.static_shared + launch.dynamic_shared_bytes), 8);
  made->l2 = std::make_unique<Cache>(l2_bytes, 16);
  all().push_back(std::move(made));
  return all().back().get();
}

void profile_launch_done(const Program& program, const Launch& launch, const LaunchState& state) {
  Profile* p = profile_of(program, launch);
  ++p->launches;
  p->warps += state.blocks * ((u64{launch.block.x} * launch.block.y * launch.block.z + 31) / 32);
}

namespace {

// Local memory is interleaved: a word of all lanes lies in one line of 128 bytes.
void local_sectors(const u64* address, u32 lanes, u32 size, Counts& c) {
  u64 sectors[128];
  size_t n = 0;
  for (u32 rest = lanes; rest; rest &= rest - 1) {
    const u32 l = static_cast<u32>(__builtin_ctz(rest));
    for (u32 k = 0; k < std::max(size, 4u); k += 4) sectors[n++] = (address[l] / 4 + k / 4) * 4 + l / 8;
  }
  std::sort(sectors, sectors + n);
  ++c.local_requests;
  c.local_sectors += static_cast<u64>(std::unique(sectors, sectors + n) - sectors);
}

// One line of a request, through the caches.
void touch(Profile& p, const Instr& i, Counts& c, u64 line, u32 sectors) {
  ++c.tags;
  c.sectors += static_cast<u64>(__builtin_popcount(sectors));
  u32 beyond = sectors;
  if (i.access == Access::read && !i.strong) beyond &= ~p.l1->take(line, sectors);
  if (i.access == Access::atomic) p.l1->invalidate(line, sectors);
  if (beyond) {
    c.l2_sectors += static_cast<u64>(__builtin_popcount(beyond));
    const u32 seen = marks(p.read, line) | marks(p.written, line), there = p.l2->take(line, beyond);
    c.l2_misses += static_cast<u64>(__builtin_popcount(beyond & seen & ~there));
    c.first += static_cast<u64>(__builtin_popcount(beyond & ~seen));
  }
  if (i.access != Access::write) mark(p.read, line, sectors);
  if (i.access != Access::read) mark(p.written, line, sectors);
}

// Sectors first to last, side by side.
void touch_range(Profile& p, const Instr& i, Counts& c, u64 first, u64 last) {
  for (u64 line = first >> 2; line <= last >> 2; ++line) {
    const u32 from = line == first >> 2 ? first & 3 : 0, to = line == last >> 2 ? last & 3 : 3;
    touch(p, i, c, line, (2u << to) - (1u << from));
  }
}

}  // namespace

void profile_row(Warp& w, const Instr& i, u64 first, AccessSpace space) {
  Profile& p = *w.context->profile;
  Counts& c = p.counts[i.pc];
  const u64 size = u64{i.bytes} * i.count;
  if (i.access == Access::atomic || space == AccessSpace::local || (space == AccessSpace::shared && size < 4)) {
    u64 address[32];
    for (u64 l = 0; l < 32; ++l) address[l] = first + l * size;
    return profile_access(w, i, address, UINT32_MAX, space);
  }
  ++c.requests;
  if (space == AccessSpace::shared) {
    ++c.shared_requests;
    c.wavefronts += size / 4;
    c.ideal += size / 4;
    return;
  }
  if (i.mix == MixClass::load_constant) return;  // constants have a cache of their own
  if (p.block != w.block->number) p.block = w.block->number, p.l1->clear();
  const u64 base = memory::layout().base >> 5;
  touch_range(p, i, c, (first >> 5) - base, ((first + 32 * size - 1) >> 5) - base);
}

void profile_access(Warp& w, const Instr& i, const u64* address, u32 lanes, AccessSpace space) {
  Profile& p = *w.context->profile;
  Counts& c = p.counts[i.pc];
  ++c.requests;
  const u32 size = u32{i.bytes} * i.count;
  if (i.access == Access::atomic) count_updates(p, i, address, lanes, space);
  if (space == AccessSpace::shared) {
    ++c.shared_requests;
    return shared_wavefronts(i, address, lanes, c);
  }
  if (space == AccessSpace::local) return local_sectors(address, lanes, size, c);
  if (space != AccessSpace::global || i.mix == MixClass::load_constant) return;
  u64 sectors[64];
  size_t n = 0;
  bool sorted = true;
  const u64 base = memory::layout().base >> 5;
  for (u32 rest = lanes; rest; rest &= rest - 1) {
    const u64 at = address[__builtin_ctz(rest)], from = (at >> 5) - base, to = ((at + size - 1) >> 5) - base;
    if (n && sectors[n - 1] == to) continue;
    sorted &= !n || sectors[n - 1] <= from;
    sectors[n++] = from;
    if (to != from) sectors[n++] = to;
  }
  if (!sorted) std::sort(sectors, sectors + n);
  if (p.block != w.block->number) p.block = w.block->number, p.l1->clear();
  for (size_t k = 0; k < n;) {
    const u64 line = sectors[k] >> 2;
    u32 mask = 0;
    for (; k < n && sectors[k] >> 2 == line; ++k) mask |= 1u << (sectors[k] & 3);
    touch(p, i, c, line, mask);
  }
}

void profile_block_done(const Block& b) {
  Profile& p = *b.context->profile;
  u64 longest = 0, total = 0;
  for (const Warp& w : b.warps) longest = std::max(longest, w.executed), total += w.executed;
  ++p.blocks;
  p.longest_warps += longest;
  p.longest_block = std::max(p.longest_block, total);
  p.longest_warp = std::max(p.longest_warp, longest);
}

void write_profiles() {
  for (const auto& owned : all()) {
    const Profile& p = *owned;
    std::map<std::pair<std::string, u32>, Line> lines;
    Line total;
    u64 mix[static_cast<int>(MixClass::count)] = {};
    for (size_t pc = 0; pc < p.counts.size(); ++pc) {
      const Counts& c = p.counts[pc];
      if (!c.executed) continue;
      const Instr& i = p.program->code[pc];
      const Place at = p.program->place(i);
      mix[static_cast<int>(i.mix)] += c.executed;
      for (Line* l : {&lines[{at.file, at.line}], &total}) {
        l->executed += c.executed;
        l->lanes += c.lanes;
        const u64 global = i.mix == MixClass::load_constant ? 0 : c.requests - c.shared_requests - c.local_requests;
        const size_t kind = i.access == Access::read ? 0 : i.access == Access::write ? 1 : 2;
        l->global_requests += global;
        l->global_sectors += c.sectors;
        l->requests[kind] += global;
        l->sectors[kind] += c.sectors;
        l->shared_requests += c.shared_requests;
        if (i.access == Access::atomic) l->shared_atomics += c.shared_requests;
        l->local_requests += c.local_requests;
        l->local_sectors += c.local_sectors;
        l->issued += c.issued;
        l->l2_sectors += c.l2_sectors;
        l->dram_sectors += c.l2_misses + c.first;
        l->addresses += c.addresses;
        l->serial += c.serial;
        l->wavefronts += c.wavefronts;
        l->ideal += c.ideal;
        if (i.mix == MixClass::atomic) l->atomics += c.executed;
        if (i.control == Control::branch) l->branches += c.executed, l->divergent += c.divergent;
        if (i.control == Control::barrier) l->barriers += c.executed;
      }
    }
    char shape[160];
    const Dim3 &g = p.launch.grid, &b = p.launch.block;
    std::snprintf(shape, sizeof shape, ",\"launches\":%llu,\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u],\"warps\":%llu,",
                  static_cast<unsigned long long>(p.launches), g.x, g.y, g.z, b.x, b.y, b.z, static_cast<unsigned long long>(p.warps));
    std::string json = "{\"type\":\"profile\",\"kernel\":";
    append_json_string(json, p.program->kernel);
    json += ",\"symbol\":";
    append_json_string(json, p.program->symbol);
    json += shape;
    fields(json, total);
    sampled_fields(json, p);
    json += ",\"shared_bytes\":" + std::to_string(p.program->static_shared + p.launch.dynamic_shared_bytes);
    json += ",\"dram_bytes_unique_read\":" + std::to_string(unique(p, p.read) * 32) +
            ",\"dram_bytes_unique_written\":" + std::to_string(unique(p, p.written) * 32) + ",\"mix\":{";
    bool first = true;
    for (int k = 0; k < static_cast<int>(MixClass::count); ++k) {
      if (!mix[k]) continue;
      json += first ? "\"" : ",\"";
      json += mix_names[k];
      json += "\":" + std::to_string(mix[k]);
      first = false;
    }
    json += "},\"lines\":[";
    first = true;
    for (const auto& [place, line] : lines) {
      json += first ? "{\"file\":" : ",{\"file\":";
      append_json_string(json, place.first);
      json += ",\"line\":" + std::to_string(place.second) + ",";
      fields(json, line);
      json += "}";
      first = false;
    }
    report_line(json + "]}");
    write_instructions(p);
  }
}

}  // namespace cudanalyst
