// Findings: one line per instruction and kind, counted after that.
#include <cstdio>
#include <map>

#include "check.hpp"

namespace cudanalyst {
namespace {

struct Book {
  std::mutex mutex;
  std::map<std::tuple<std::string, u32, std::string>, std::pair<u64, u64>> seen;  // (symbol, pc, kind) -> (index, count)
  u64 next = 0;
};
Book& book() {
  static auto* instance = new Book;
  return *instance;
}

std::string numbers(const Dim3& d) {
  char text[64];
  std::snprintf(text, sizeof text, "[%u,%u,%u]", d.x, d.y, d.z);
  return text;
}

void text_field(std::string& json, const char* name, std::string_view value) {
  json += std::string(",\"") + name + "\":";
  append_json_string(json, value);
}

}  // namespace

void report_finding(Warp& w, const Instr& i, u32 lane, const Finding& f) {
  Book& b = book();
  const std::lock_guard lock(b.mutex);
  const Program& p = *w.context->program;
  const auto [it, fresh] = b.seen.try_emplace({p.symbol, i.pc, f.kind}, b.next, 1);
  if (!fresh) {
    ++it->second.second;
    return;
  }
  ++b.next;
  const Place at = p.place(i);
  std::string json = "{\"type\":\"finding\",\"check\":\"" + f.check + "\",\"kind\":\"" + f.kind + "\"";
  text_field(json, "kernel", p.kernel);
  text_field(json, "file", at.file);
  json += ",\"line\":" + std::to_string(at.line) + ",\"inlined_at\":[";
  for (size_t k = 0; k < at.inlined_at.size(); ++k) {
    json += k ? ",{\"file\":" : "{\"file\":";
    append_json_string(json, at.inlined_at[k].first);
    json += ",\"line\":" + std::to_string(at.inlined_at[k].second) + "}";
  }
  json += "],\"thread\":" + numbers(thread_index(w, lane)) + ",\"block\":" + numbers(w.block->index);
  if (!f.space.empty()) text_field(json, "space", f.space);
  if (f.size) json += ",\"size\":" + std::to_string(f.size);
  if (!f.address.empty()) text_field(json, "address", f.address);
  if (f.other || f.other_thread != UINT64_MAX) {
    const Dim3 n = w.context->launch->launch.block, g = w.context->launch->launch.grid;
    const u64 t = f.other_thread % w.block->threads, block = f.other_thread / w.block->threads;
    json += ",\"other\":{\"access\":\"" + f.other_access + "\"";
    if (f.other) {
      const Place other = (f.other_program ? *f.other_program : p).place(*f.other);
      text_field(json, "file", other.file);
      json += ",\"line\":" + std::to_string(other.line);
    }
    if (f.other_thread != UINT64_MAX) {
      json += ",\"thread\":" + numbers({static_cast<u32>(t % n.x), static_cast<u32>(t / n.x % n.y), static_cast<u32>(t / n.x / n.y)});
      json += ",\"block\":" + numbers({static_cast<u32>(block % g.x), static_cast<u32>(block / g.x % g.y), static_cast<u32>(block / g.x / g.y)});
    }
    json += "}";
  }
  text_field(json, "message", f.message);
  report_line(json + ",\"count\":1}");
}

void report_host_finding(const std::string& kind, const std::string& where, const std::string& message, const char* check) {
  Book& b = book();
  const std::lock_guard lock(b.mutex);
  const auto [it, fresh] = b.seen.try_emplace({message, 0, kind}, b.next, 1);
  if (!fresh) {
    ++it->second.second;
    return;
  }
  ++b.next;
  std::string json = std::string("{\"type\":\"finding\",\"check\":\"") + check + "\",\"kind\":\"" + kind +
                     "\",\"kernel\":null,\"file\":null,\"line\":null,\"inlined_at\":[]";
  if (!where.empty()) {
    text_field(json, "space", "global");
    text_field(json, "address", where);
  }
  text_field(json, "message", message);
  report_line(json + ",\"count\":1}");
}

void report_leaks() {
  constexpr size_t most = 50;
  const std::vector<memory::Allocation> left = memory::live_allocations();
  for (size_t k = 0; k < left.size(); ++k) {
    if (k == most) {
      report_host_finding("leak", "", std::to_string(left.size() - most) + " more allocations are never freed");
      return;
    }
    const char* by = left[k].kind == memory::Kind::heap ? "malloc() on the device" : "the host";
    report_host_finding("leak", memory::describe(left[k].address),
                        std::to_string(left[k].bytes) + " B at " + memory::describe(left[k].address) + ", allocated by " + by + ", are never freed");
  }
}

void write_finding_counts() {
  Book& b = book();
  const std::lock_guard lock(b.mutex);
  for (const auto& [key, entry] : b.seen)
    if (entry.second > 1)
      report_line("{\"type\":\"finding_count\",\"index\":" + std::to_string(entry.first) + ",\"count\":" + std::to_string(entry.second) + "}");
}

}  // namespace cudanalyst
