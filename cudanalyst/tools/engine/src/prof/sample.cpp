#include "sample.hpp"

#include <algorithm>
#include <cmath>

namespace cudanalyst {
namespace {

bool reads_slot(const Program& p, const Instr& of) {
  const auto in = [&](const Instr& i) {
    return i.a == of.d || i.b == of.d || i.c == of.d || i.e == of.d || std::find(std::begin(i.v), std::end(i.v), of.d) != std::end(i.v);
  };
  for (const Instr& i : p.code)
    if (&i != &of && in(i)) return true;
  for (const auto& i : p.inner)
    if (in(*i)) return true;
  for (const auto& call : p.calls)
    if (std::find(call->arguments.begin(), call->arguments.end(), of.d) != call->arguments.end()) return true;
  return false;
}

std::string in_line(const Program& p, const Instr& i) {
  const Place at = p.place(i);
  return at.line ? " (line " + std::to_string(at.line) + ")" : "";
}

struct Range {
  u64 from, to;  // sectors of device memory
};
std::vector<Range>& incomplete() {
  static auto* ranges = new std::vector<Range>;
  return *ranges;
}

// The next marked sector from `at` on, or the end of the bitmap.
u64 next_marked(const std::vector<u64>& bitmap, u64 at) {
  const u64 end = bitmap.size() * 64;
  while (at < end) {
    const u64 word = bitmap[at / 64] >> (at % 64);
    if (word) return at + static_cast<u64>(__builtin_ctzll(word));
    at = (at / 64 + 1) * 64;
  }
  return end;
}

template <class Body>
void each_allocation(const std::vector<u64>& bitmap, Body&& body) {
  const u64 base = memory::layout().base, end = bitmap.size() * 64;
  for (u64 at = next_marked(bitmap, 0); at < end;) {
    const auto a = memory::find(base + at * 32);
    const u64 after = a ? std::max((a->address + a->bytes - base + 31) / 32, at + 1) : at + 1;
    body(at, std::min(after, end));
    at = next_marked(bitmap, after);
  }
}

}  // namespace

std::string why_not_sampled(const Program& program, const LaunchState& launch) {
  if (launch.launch.cooperative || launch.explicit_cluster) return "its blocks synchronise with each other";
  for (const Instr& i : program.code) {
    if (i.space != AccessSpace::global && i.space != AccessSpace::generic) continue;
    if (i.access == Access::atomic && i.d != none && reads_slot(program, i)) return "what an atomic returns is used" + in_line(program, i);
    if (i.access == Access::read && i.strong) return "it reads what other blocks may write meanwhile" + in_line(program, i);
  }
  return {};
}

Sampler::Sampler(Profile& profile, u64 blocks, u64 budget) : p_(profile), blocks_(blocks), budget_(budget) {}

std::optional<u64> Sampler::next() {
  const u64 middle = blocks_ / 2;  // the first: blocks at the edges are often idle
  const u64 k = started_;
  if (k == blocks_) return std::nullopt;
  if (k && !whole_ && k > strata && (k - 1) % strata == 0 && executed_ >= budget_) return std::nullopt;
  ++started_;
  if (k == 0) return taken_.insert(middle), middle;
  if (whole_) return k <= middle ? k - 1 : k;
  const u64 from = (k - 1) % strata * blocks_ / strata, to = ((k - 1) % strata + 1) * blocks_ / strata;
  random_ = (random_ ^ random_ >> 30) * 0xbf58476d1ce4e5b9ull + 0x9e3779b97f4a7c15ull;
  u64 number = from + (random_ >> 20) % (to - from);
  while (!taken_.insert(number).second) number = (number + 1) % blocks_;
  return number;
}

void Sampler::totals(double (&into)[Sampled::quantities], u64 warp_instructions) const {
  u64 sectors = 0, wavefronts = 0;
  for (const Counts& c : p_.counts) sectors += c.sectors, wavefronts += c.wavefronts;
  into[0] = static_cast<double>(warp_instructions);
  into[1] = static_cast<double>(sectors);
  into[2] = static_cast<double>(wavefronts);
}

void Sampler::block_done(u64 number, u64 warp_instructions) {
  executed_ += warp_instructions;
  if (done_++ == 0) {
    const unsigned __int128 all = static_cast<unsigned __int128>(warp_instructions) * blocks_;
    whole_ = all + all / 4 <= budget_ || blocks_ <= least_blocks;
    first_ = p_.counts;
    first_updates_ = p_.updates;
    first_longest_warps_ = p_.longest_warps;
  }
  if (whole_) return;
  Measured m{number, {}};
  double now[Sampled::quantities];
  totals(now, executed_);
  for (size_t q = 0; q < Sampled::quantities; ++q) m.value[q] = now[q] - before_[q], before_[q] = now[q];
  measured_.push_back(m);
}

void Sampler::finish() {
  if (whole_ || done_ < 2 || done_ == blocks_) return;
  const double others = static_cast<double>(blocks_ - 1), n = static_cast<double>(done_ - 1), scale = others / n;
  const auto scaled = [&](u64 first, u64 now) { return first + static_cast<u64>(std::llround(static_cast<double>(now - first) * scale)); };
  static_assert(sizeof(Counts) % sizeof(u64) == 0, "all fields are counts");
  for (size_t pc = 0; pc < p_.counts.size(); ++pc) {
    const u64* from = reinterpret_cast<const u64*>(&first_[pc]);
    u64* to = reinterpret_cast<u64*>(&p_.counts[pc]);
    for (size_t k = 0; k < sizeof(Counts) / sizeof(u64); ++k) to[k] = scaled(from[k], to[k]);
  }
  for (auto& [pc, slices] : p_.updates)
    for (size_t k = 0; k < slices.size(); ++k) {
      const Updates& from = first_updates_[pc][k];
      slices[k] = {scaled(from.requests, slices[k].requests), scaled(from.lanes, slices[k].lanes)};
    }
  p_.longest_warps = scaled(first_longest_warps_, p_.longest_warps);
  p_.blocks += blocks_ - done_;
  Sampled& s = p_.sampled;
  s.blocks += done_;
  s.of += blocks_;
  s.scale = std::max(s.scale, scale);
  touch_once();
  // Neighbours in the grid are alike, so differences between them tell the error of a sample that lies evenly (successive differences).
  measured_.erase(measured_.begin());
  std::sort(measured_.begin(), measured_.end(), [](const Measured& a, const Measured& b) { return a.number < b.number; });
  for (size_t q = 0; q < Sampled::quantities; ++q) {
    double sum = 0;
    for (size_t k = 1; k < measured_.size(); ++k) sum += std::pow(measured_[k].value[q] - measured_[k - 1].value[q], 2);
    const double variance = n > 1 ? sum / (2 * (n - 1)) : 0;
    s.variance[q] += others * others * (1 - n / others) * variance / n;
  }
}

// Blocks share what they read, so scaled first touches are too many: no more than there is to touch.
void Sampler::touch_once() {
  u64 touches = 0;
  for (const Counts& c : p_.counts) touches += c.first;
  const u64 most = p_.sampled.unique(p_.read) + p_.sampled.unique(p_.written);
  if (touches <= most) return;
  for (Counts& c : p_.counts) c.first = static_cast<u64>(static_cast<double>(c.first) * static_cast<double>(most) / static_cast<double>(touches));
}

u64 Sampled::unique(const std::vector<u64>& bitmap) const {
  u64 total = 0;
  each_allocation(bitmap, [&](u64 from, u64 to) {
    u64 marked = 0, last = from;
    for (u64 at = from; at < to; at = next_marked(bitmap, at + 1)) ++marked, last = at;
    total += std::min(static_cast<u64>(std::llround(static_cast<double>(marked) * scale)), last - from + 1);
  });
  return total;
}

void note_incomplete(Profile& p, bool sampled) {
  for (const Range& r : incomplete()) p.sampled.after |= next_marked(p.read, r.from) < std::min(r.to, p.read.size() * 64);
  if (sampled) each_allocation(p.written, [](u64 from, u64 to) { incomplete().push_back({from, to}); });
}

}  // namespace cudanalyst
