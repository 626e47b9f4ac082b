// Functions that device code calls and no module defines: vprintf, __assertfail, malloc, free.
#include <cstdio>
#include <mutex>

#include "../check/check.hpp"
#include "core.hpp"

namespace cudanalyst {
namespace {

std::mutex output;

u8* argument(Warp& w, u32 lane, u32 offset) { return w.block->local + (u64{w.id} * 32 + lane) * w.block->local_stride + w.frame->local + offset; }
template <class T>
T value(Warp& w, u32 lane, u32 offset) {
  T result;
  std::memcpy(&result, argument(w, lane, offset), sizeof result);
  return result;
}

// Engine's view of a generic address, and how many bytes follow it; nullptr when it points nowhere.
const u8* view(Warp& w, u32 lane, u64 address, size_t& room) {
  const Context& c = *w.context;
  Block& b = *w.block;
  if (address - c.local_window < memory::window_bytes) {
    const u64 at = address - c.local_window;
    if (at >= b.local_stride) return nullptr;
    room = b.local_stride - at;
    return b.local + (u64{w.id} * 32 + lane) * b.local_stride + at;
  }
  if (address - c.shared_window < memory::window_bytes) {
    const u64 at = address - c.shared_window;
    if (at >= b.shared_bytes) return nullptr;
    room = b.shared_bytes - at;
    return b.shared + at;
  }
  const memory::Bounds found = memory::live_bounds(address);
  if (!found.bytes) return nullptr;
  room = found.bytes - (address - found.address);
  return reinterpret_cast<const u8*>(address + c.delta);
}

std::string text_at(Warp& w, u32 lane, u64 address) {
  size_t room = 0;
  const u8* at = address ? view(w, lane, address, room) : nullptr;
  if (!at) return "(null)";
  return std::string(reinterpret_cast<const char*>(at), strnlen(reinterpret_cast<const char*>(at), room));
}

// printf as a GPU has it: values are packed at their natural alignment; `*` takes an int.
std::string format(Warp& w, u32 lane, const std::string& pattern, const u8* values, size_t room, int& count) {
  std::string result;
  size_t at = 0;
  const auto take = [&](size_t bytes) {
    at = (at + bytes - 1) / bytes * bytes;
    u64 v = 0;
    if (values && at + bytes <= room) std::memcpy(&v, values + at, bytes);
    at += bytes;
    return v;
  };
  count = 0;
  for (size_t k = 0; k < pattern.size(); ++k) {
    if (pattern[k] != '%') {
      result += pattern[k];
      continue;
    }
    std::string spec = "%";
    size_t n = k + 1;
    bool wide = false;
    while (n < pattern.size() && std::strchr("-+ #0123456789.*", pattern[n])) {
      if (pattern[n] == '*') spec += std::to_string(static_cast<int>(take(4))), ++count;
      else spec += pattern[n];
      ++n;
    }
    while (n < pattern.size() && std::strchr("hlLzjtq", pattern[n])) {
      wide |= pattern[n] != 'h';
      ++n;
    }
    if (n >= pattern.size()) {
      result += pattern.substr(k);
      break;
    }
    if (std::strchr("Lzjtq", pattern[n - 1])) {  // sizes that device code does not have are printed as they are
      result += pattern.substr(k, n - k + 1);
      k = n;
      continue;
    }
    const char kind = pattern[n];
    char buffer[512];
    buffer[0] = 0;
    switch (kind) {
      case '%': result += '%'; break;
      case 'd':
      case 'i':
        std::snprintf(buffer, sizeof buffer, (spec + "lld").c_str(),
                      wide ? static_cast<long long>(take(8)) : static_cast<long long>(static_cast<s32>(take(4))));
        break;
      case 'u':
      case 'x':
      case 'X':
      case 'o': std::snprintf(buffer, sizeof buffer, (spec + "ll" + kind).c_str(), static_cast<unsigned long long>(wide ? take(8) : take(4))); break;
      case 'c': std::snprintf(buffer, sizeof buffer, (spec + kind).c_str(), static_cast<int>(take(4))); break;
      case 'f':
      case 'F':
      case 'e':
      case 'E':
      case 'g':
      case 'G':
      case 'a':
      case 'A': {
        const u64 bits = take(8);
        double real;
        std::memcpy(&real, &bits, 8);
        std::snprintf(buffer, sizeof buffer, (spec + kind).c_str(), real);
        break;
      }
      case 'p': {
        const u64 pointer = take(8);
        std::snprintf(buffer, sizeof buffer, (spec + kind).c_str(), reinterpret_cast<void*>(pointer));
        break;
      }
      case 's': {
        const std::string text = text_at(w, lane, take(8));
        const int length = std::snprintf(nullptr, 0, (spec + "s").c_str(), text.c_str());
        std::string full(static_cast<size_t>(std::max(length, 0)) + 1, '\0');
        std::snprintf(full.data(), full.size(), (spec + "s").c_str(), text.c_str());
        full.pop_back();
        result += full;
        break;
      }
      default: result += pattern.substr(k, n - k + 1);
    }
    if (kind != '%') ++count;
    result += buffer;
    k = n;
  }
  return result;
}

void print(Warp& w, const CallSite& site, u32 lanes) {
  for (; lanes; lanes &= lanes - 1) {
    const u32 lane = static_cast<u32>(__builtin_ctz(lanes));
    device_limits().printed = true;
    const std::string pattern = text_at(w, lane, value<u64>(w, lane, site.arguments[0]));
    const u64 values = value<u64>(w, lane, site.arguments[1]);
    size_t room = 0;
    const u8* at = values ? view(w, lane, values, room) : nullptr;
    int count = 0;
    const std::string text = format(w, lane, pattern, at, room, count);
    {
      const std::lock_guard lock(output);
      std::fwrite(text.data(), 1, text.size(), stdout);
      std::fflush(stdout);
    }
    if (!site.results.empty()) std::memcpy(argument(w, lane, site.results[0]), &count, 4);
  }
}

void assertion(Warp& w, const Instr& i, const CallSite& site, u32 lanes) {
  for (u32 rest = lanes; rest; rest &= rest - 1) {
    const u32 lane = static_cast<u32>(__builtin_ctz(rest));
    const std::string what = text_at(w, lane, value<u64>(w, lane, site.arguments[0]));
    const std::string file = text_at(w, lane, value<u64>(w, lane, site.arguments[1]));
    const u32 line = value<u32>(w, lane, site.arguments[2]);
    const std::string function = text_at(w, lane, value<u64>(w, lane, site.arguments[3]));
    const Dim3 t = thread_index(w, lane), b = w.block->index;
    std::fprintf(stderr, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n", file.c_str(), line, function.c_str(), b.x, b.y,
                 b.z, t.x, t.y, t.z, what.c_str());
    if (rest == lanes) fault(w, i, assert_triggered, "Assertion `" + what + "` failed at " + file + ":" + std::to_string(line), lane);
  }
}

void allocate(Warp& w, const CallSite& site, u32 lanes) {
  for (; lanes; lanes &= lanes - 1) {
    const u32 lane = static_cast<u32>(__builtin_ctz(lanes));
    const u64 bytes = value<u64>(w, lane, site.arguments[0]);
    const u64 at = memory::allocate_on_heap(bytes);
    if (!site.results.empty()) std::memcpy(argument(w, lane, site.results[0]), &at, 8);
  }
}

void release(Warp& w, const Instr& i, const CallSite& site, u32 lanes) {
  for (; lanes; lanes &= lanes - 1) {
    const u32 lane = static_cast<u32>(__builtin_ctz(lanes));
    const u64 at = value<u64>(w, lane, site.arguments[0]);
    if (!at) continue;
    const auto held = memory::find(at);
    if (memory::release(at) == success) {
      for (auto& b : w.context->bounds) b = {};
      continue;
    }
    const bool twice = held && !held->live && held->address == at;
    const std::string message = twice ? "free() of memory that was freed before" : "free() of a pointer that malloc() did not return";
    if (w.context->checks & memcheck) {
      Finding f;
      f.check = "memcheck";
      f.kind = twice ? "double_free" : "invalid_free";
      f.space = "global";
      f.address = memory::describe(at);
      f.message = message;
      report_finding(w, i, lane, f);
      continue;
    }
    fault(w, i, twice ? launch_failure : illegal_address, message, lane);  // as an H200 ends
    return;
  }
}

}  // namespace

bool is_builtin(std::string_view name) { return name == "vprintf" || name == "__assertfail" || name == "malloc" || name == "free"; }

bool builtin_call(Warp& w, const Instr& i, std::string_view name, u32 lanes) {
  const auto& site = static_cast<const std::pair<CallSite, std::string>*>(i.more)->first;
  const size_t needed = name == "vprintf" ? 2 : name == "__assertfail" ? 4 : 1;
  if (site.arguments.size() < needed) {
    fault(w, i, illegal_instruction, "A call of " + std::string(name) + " with too few arguments", static_cast<u32>(__builtin_ctz(lanes)));
    return false;
  }
  if (name == "vprintf") print(w, site, lanes);
  else if (name == "__assertfail") assertion(w, i, site, lanes);
  else if (name == "malloc") allocate(w, site, lanes);
  else release(w, i, site, lanes);
  return !w.event;
}

}  // namespace cudanalyst
