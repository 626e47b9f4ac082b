#include "memory.hpp"

#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <shared_mutex>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace cudanalyst::memory {
namespace {

constexpr uint64_t gap = 256, page = 65536;
constexpr uint64_t device_hint = 0x200000000000;

// Where the engine itself reaches device memory: not a place that host code could know.
uint64_t alias_hint() {
  constexpr uint64_t first = 0x300000000000, choices = uint64_t{1} << 29;
  uint64_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != sizeof random) return 0;  // the kernel then chooses
  return first + random % choices * page;
}

[[noreturn]] void fatal(const char* what) {
  std::fprintf(stderr, "cudanalyst engine: %s: %s\n", what, std::strerror(errno));
  std::_Exit(125);
}

void* reserve(uint64_t hint, size_t bytes, int protection, int flags) {
  void* at = ::mmap(reinterpret_cast<void*>(hint), bytes, protection, hint ? flags | MAP_FIXED_NOREPLACE : flags, -1, 0);
  if (at == MAP_FAILED || (hint && at != reinterpret_cast<void*>(hint))) {
    if (at != MAP_FAILED) ::munmap(at, bytes);
    at = ::mmap(nullptr, bytes, protection, flags, -1, 0);
  }
  if (at == MAP_FAILED) fatal("cannot reserve address space for device memory (lower CUDANALYST_MEMORY or raise the limit)");
  return at;
}

struct Arena {
  Layout layout;
  uint64_t top = 0;  // offset of the first byte never allocated
  uint64_t used = 0, heap_used = 0;
  std::map<uint64_t, Allocation> allocations;  // by address; released ones stay until their place is taken
  std::map<uint64_t, uint64_t> holes;          // offset -> bytes, reused outside check mode
  mutable std::shared_mutex mutex;
  std::atomic<uint64_t> generation{1};

  Arena() {
    const size_t bytes = (std::max<size_t>(config().memory_bytes, page) + page - 1) / page * page;
    const uint64_t windows = 2 * window_bytes;
    auto at = reinterpret_cast<uint64_t>(reserve(device_hint - windows, bytes + windows, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE));
    layout.shared_window = at;
    layout.local_window = at + window_bytes;
    layout.base = at + windows;
    layout.bytes = bytes;
    // Shared, so that managed memory can be mapped a second time; without a file, which host code could map too.
    layout.delta =
        reinterpret_cast<uint64_t>(reserve(alias_hint(), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE)) - layout.base;
    // The first allocation: the parameters of the launch in progress, so that their address can be taken.
    allocations[layout.base] = {layout.base, parameter_bytes, Kind::constant_variable, true, "kernel parameters"};
    top = page;
    const auto shadow = [&](size_t n) { return reserve(0, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE); };
    if (config().checks & initcheck) layout.init = static_cast<uint8_t*>(shadow(bytes));
    if (config().checks & racecheck) layout.race = static_cast<uint32_t*>(shadow(bytes * 8));
  }

  uint8_t* host(uint64_t address) const { return reinterpret_cast<uint8_t*>(address + layout.delta); }

  // Offset of a free place, or UINT64_MAX.
  uint64_t place(uint64_t bytes, uint64_t align) {
    if (config().mode != Mode::check) {
      for (auto it = holes.begin(); it != holes.end(); ++it) {
        const uint64_t start = (it->first + align - 1) / align * align;
        if (start + bytes > it->first + it->second) continue;
        const uint64_t before = start - it->first, after = it->first + it->second - start - bytes;
        const uint64_t hole = it->first;
        holes.erase(it);
        if (before) holes[hole] = before;
        if (after) holes[start + bytes] = after;
        return start;
      }
    }
    const uint64_t start = (top + align - 1) / align * align;
    if (start + bytes > layout.bytes) return UINT64_MAX;
    top = start + bytes;
    return start;
  }

  void give_back(uint64_t offset, uint64_t bytes) {
    auto next = holes.lower_bound(offset);
    if (next != holes.end() && next->first == offset + bytes) {
      bytes += next->second;
      next = holes.erase(next);
    }
    if (next != holes.begin()) {
      auto before = std::prev(next);
      if (before->first + before->second == offset) {
        before->second += bytes;
        return;
      }
    }
    holes[offset] = bytes;
  }
};

Arena& arena() {
  static Arena* instance = new Arena;
  return *instance;
}

uint64_t footprint(const Allocation& a) {
  const uint64_t unit = a.kind == Kind::managed ? page : gap;
  return (a.bytes + gap + unit - 1) / unit * unit;
}

uint64_t heap_block(size_t bytes) { return (bytes + 15) / 16 * 16 + 16; }

const Allocation* holding(const Arena& a, uint64_t address) {
  auto it = a.allocations.upper_bound(address);
  if (it == a.allocations.begin()) return nullptr;
  --it;
  return address - it->first < std::max<uint64_t>(it->second.bytes, 1) ? &it->second : nullptr;
}

// Bytes of device memory that the range may touch on behalf of the host API.
uint8_t* range(uint64_t address, size_t bytes) {
  const Allocation* found = holding(arena(), address);
  if (!found || !found->live || found->kind == Kind::heap || bytes > found->bytes - (address - found->address)) return nullptr;
  return arena().host(address);
}

void mark(uint64_t address, size_t bytes) {
  const Layout& l = arena().layout;
  if (l.init) std::memset(l.init + (address - l.base), 1, bytes);
}

}  // namespace

const Layout& layout() { return arena().layout; }

uint64_t allocate(size_t bytes, Kind kind, std::string_view name, size_t align) {
  Arena& a = arena();
  const std::unique_lock lock(a.mutex);
  if (bytes > a.layout.bytes) return 0;
  Allocation made{0, bytes, kind, true, std::string(name)};
  const uint64_t size = footprint(made);
  const uint64_t offset = a.place(size, std::max<uint64_t>(kind == Kind::managed ? page : 256, align));
  if (offset == UINT64_MAX) return 0;
  made.address = a.layout.base + offset;
  for (auto it = a.allocations.lower_bound(made.address); it != a.allocations.end() && it->first < made.address + size;) it = a.allocations.erase(it);
  if (kind == Kind::managed) {
    // An old size of 0 maps the same shared memory a second time.
    void* at = ::mremap(a.host(made.address), 0, size, MREMAP_MAYMOVE | MREMAP_FIXED, reinterpret_cast<void*>(made.address));
    if (at == MAP_FAILED) {
      a.give_back(offset, size);
      return 0;
    }
    mark(made.address, bytes);  // the host may write it unseen
  }
  a.used += size;
  const uint64_t address = made.address;
  a.allocations[address] = std::move(made);
  return address;
}

uint64_t allocate_on_heap(size_t bytes) {
  // As an H200 has it: a block is a multiple of 16 bytes and has as many before it.
  const uint64_t block = heap_block(bytes);
  {
    Arena& a = arena();
    const std::unique_lock lock(a.mutex);
    device_limits().heap_touched = true;
    if (bytes > device_limits().heap_bytes || a.heap_used + block > device_limits().heap_bytes) return 0;
    a.heap_used += block;
  }
  return allocate(bytes, Kind::heap, "malloc");
}

Error release(uint64_t address) {
  Arena& a = arena();
  const std::unique_lock lock(a.mutex);
  auto it = a.allocations.find(address);
  if (it == a.allocations.end() || !it->second.live) return invalid_value;
  Allocation& gone = it->second;
  gone.live = false;
  const uint64_t size = footprint(gone);
  a.used -= size;
  if (gone.kind == Kind::heap) a.heap_used -= heap_block(gone.bytes);
  a.generation++;
  if (gone.kind == Kind::managed)
    ::mmap(reinterpret_cast<void*>(address), size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  if (config().mode != Mode::check) a.give_back(address - a.layout.base, size);
  return success;
}

std::optional<Allocation> find(uint64_t address) {
  const std::shared_lock lock(arena().mutex);
  const Allocation* found = holding(arena(), address);
  return found ? std::optional(*found) : std::nullopt;
}

std::optional<Allocation> nearest(uint64_t address) {
  Arena& a = arena();
  const std::shared_lock lock(a.mutex);
  const auto after = a.allocations.upper_bound(address);
  const Allocation* best = nullptr;
  uint64_t distance = UINT64_MAX;
  if (after != a.allocations.end()) {
    best = &after->second;
    distance = after->first - address;
  }
  if (after != a.allocations.begin()) {
    const Allocation& before = std::prev(after)->second;
    const uint64_t end = before.address + before.bytes;
    if (address < end || address - end < distance) best = &before;
  }
  return best ? std::optional(*best) : std::nullopt;
}

Bounds live_bounds(uint64_t address, bool writes) {
  const std::shared_lock lock(arena().mutex);
  const Allocation* found = holding(arena(), address);
  if (writes && found && found->kind == Kind::constant_variable && (config().checks & memcheck)) return {};
  return found && found->live ? Bounds{found->address, found->bytes} : Bounds{};
}

uint64_t generation() { return arena().generation.load(std::memory_order_relaxed); }

void rename(uint64_t address, std::string_view name) {
  size_t bytes = 0;
  {
    const std::unique_lock lock(arena().mutex);
    auto it = arena().allocations.find(address);
    if (it == arena().allocations.end()) return;
    it->second.name = name;
    bytes = it->second.bytes;
  }
  std::string json = "{\"type\":\"allocation\",\"name\":";
  append_json_string(json, name);
  char rest[64];
  std::snprintf(rest, sizeof rest, ",\"address\":\"0x%llx\",\"bytes\":%zu}", static_cast<unsigned long long>(address), bytes);
  report_line(json + rest);
}

std::string describe(uint64_t address) {
  const auto found = nearest(address);
  char text[160];
  if (!found || (address - found->address > (uint64_t{1} << 40) && found->address - address > (uint64_t{1} << 40))) {
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
    return text;
  }
  std::string result = found->name.empty() ? "allocation" : found->name;
  if (found->name.empty()) {
    std::snprintf(text, sizeof text, " %#llx", static_cast<unsigned long long>(found->address));
    result += text;
  }
  const bool below = address < found->address;
  std::snprintf(text, sizeof text, "[%zu B] %c %llu", found->bytes, below ? '-' : '+',
                static_cast<unsigned long long>(below ? found->address - address : address - found->address));
  return result + text;
}

bool is_device(const void* pointer) {
  const Layout& l = layout();
  return reinterpret_cast<uint64_t>(pointer) - l.base < l.bytes;
}

uint8_t* host_view(uint64_t address, size_t bytes) {
  const std::shared_lock lock(arena().mutex);
  return range(address, bytes);
}

Error write(uint64_t to, const void* from, size_t bytes) {
  if (!bytes) return success;
  const std::shared_lock lock(arena().mutex);
  uint8_t* at = range(to, bytes);
  if (!at) return invalid_value;
  std::memcpy(at, from, bytes);
  mark(to, bytes);
  return success;
}

Error read(void* to, uint64_t from, size_t bytes) {
  if (!bytes) return success;
  const std::shared_lock lock(arena().mutex);
  const uint8_t* at = range(from, bytes);
  if (!at) return invalid_value;
  std::memcpy(to, at, bytes);
  return success;
}

Error copy(uint64_t to, uint64_t from, size_t bytes) {
  if (!bytes) return success;
  const std::shared_lock lock(arena().mutex);
  uint8_t* target = range(to, bytes);
  const uint8_t* source = range(from, bytes);
  if (!target || !source) return invalid_value;
  std::memmove(target, source, bytes);
  const Layout& l = arena().layout;
  if (l.init) std::memmove(l.init + (to - l.base), l.init + (from - l.base), bytes);
  return success;
}

Error fill(uint64_t to, uint8_t value, size_t bytes) {
  if (!bytes) return success;
  const std::shared_lock lock(arena().mutex);
  uint8_t* at = range(to, bytes);
  if (!at) return invalid_value;
  std::memset(at, value, bytes);
  mark(to, bytes);
  return success;
}

namespace {
constexpr uint64_t host_page = 4096;
uint64_t whole_pages(uint64_t host, size_t bytes) { return (offset_in_page(host) + bytes + host_page - 1) / host_page * host_page; }
}  // namespace

uint64_t offset_in_page(uint64_t host) { return host % host_page; }

uint64_t adopt(uint64_t host, size_t bytes) {
  const uint64_t size = whole_pages(host, bytes), start = host - offset_in_page(host);
  char here = 0;
  const auto stack = reinterpret_cast<uint64_t>(&here);
  constexpr uint64_t margin = uint64_t{1} << 20;
  if (start < stack + margin && stack < start + size + margin) return 0;  // the stack that this runs on
  const uint64_t device = allocate(size, Kind::managed, "registered host memory");
  if (!device) return 0;
  std::memcpy(arena().host(device), reinterpret_cast<void*>(start), size);
  void* at = ::mremap(arena().host(device), 0, size, MREMAP_MAYMOVE | MREMAP_FIXED, reinterpret_cast<void*>(start));
  if (at != MAP_FAILED) return device;
  release(device);
  return 0;
}

void take_back(uint64_t device, uint64_t host, size_t bytes) {
  const uint64_t size = whole_pages(host, bytes);
  void* at =
      ::mmap(reinterpret_cast<void*>(host - offset_in_page(host)), size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (at != MAP_FAILED) std::memcpy(at, arena().host(device), size);
}

uint64_t first_unwritten(uint64_t address, size_t bytes) {
  const Layout& l = arena().layout;
  const std::shared_lock lock(arena().mutex);
  if (!l.init || !range(address, bytes)) return UINT64_MAX;
  const uint8_t* shadow = l.init + (address - l.base);
  for (size_t at = 0; at < bytes;) {
    const size_t end = std::min<size_t>(bytes, at + 8 - (address + at) % 8);
    uint64_t word = 1;
    if (end - at == 8) std::memcpy(&word, shadow + at, 8);
    else word = std::memchr(shadow + at, 1, end - at) != nullptr;
    if (!word) return address + at;
    at = end;
  }
  return UINT64_MAX;
}

std::vector<Allocation> live_allocations() {
  const std::shared_lock lock(arena().mutex);
  std::vector<Allocation> result;
  for (const auto& [address, one] : arena().allocations)
    if (one.live && (one.kind == Kind::device || one.kind == Kind::managed || one.kind == Kind::heap)) result.push_back(one);
  return result;
}

size_t free_bytes() {
  const std::shared_lock lock(arena().mutex);
  return arena().layout.bytes - arena().used;
}

}  // namespace cudanalyst::memory
