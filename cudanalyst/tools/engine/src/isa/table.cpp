#include <unordered_map>

#include "decode.hpp"

namespace cudanalyst::isa {
namespace {

struct Slot {
  bool optional;
  std::vector<std::string_view> options;
};
struct Pattern {
  const Row* row;
  std::vector<Slot> slots;
};

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> result;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    while (end < text.size() && text[end] != '.') ++end;
    result.push_back(text.substr(at, end - at));
    at = end;
  }
  return result;
}

Pattern parse(const Row& row, std::string_view& name) {
  Pattern p{&row, {}};
  std::string_view text = row.pattern;
  size_t at = 0;
  while (at < text.size() && text[at] != '.' && text[at] != '{' && text[at] != '(') ++at;
  name = text.substr(0, at);
  while (at < text.size()) {
    Slot slot{text[at] == '{', {}};
    if (text[at] == '.') {
      size_t end = at + 1;
      while (end < text.size() && text[end] != '.' && text[end] != '{' && text[end] != '(') ++end;
      slot.options.push_back(text.substr(at, end - at));
      at = end;
    } else {
      const char close = slot.optional ? '}' : ')';
      const size_t end = text.find(close, at);
      for (size_t from = at + 1; from < end;) {
        const size_t bar = std::min(text.find('|', from), end);
        slot.options.push_back(text.substr(from, bar - from));
        from = bar + 1;
      }
      at = end + 1;
    }
    p.slots.push_back(std::move(slot));
  }
  return p;
}

bool match(const Pattern& p, const std::vector<std::string_view>& mods) {
  size_t at = 0;
  for (const Slot& slot : p.slots) {
    bool taken = false;
    if (at < mods.size())
      for (const auto option : slot.options) taken |= option == mods[at];
    if (taken) ++at;
    else if (!slot.optional) return false;
  }
  return at == mods.size();
}

// The same with the modifiers in any order, which ptxas accepts for memory operations.
bool match_unordered(const Pattern& p, const std::vector<std::string_view>& mods) {
  std::vector<bool> filled(p.slots.size());
  for (const auto mod : mods) {
    bool taken = false;
    for (size_t k = 0; k < p.slots.size() && !taken; ++k)
      for (const auto option : p.slots[k].options)
        if (!filled[k] && option == mod) taken = filled[k] = true;
    if (!taken) return false;
  }
  for (size_t k = 0; k < p.slots.size(); ++k)
    if (!filled[k] && !p.slots[k].optional) return false;
  return true;
}

using Table = std::unordered_map<std::string_view, std::vector<Pattern>>;

const Table& table() {
  static const Table* instance = [] {
    auto* made = new Table;
    for (const auto rows : {integer_rows(), bit_rows(), float_rows(), half_rows(), convert_rows(), narrow_rows(), video_rows(), compare_rows(),
                            move_rows(), address_rows(), memory_rows(), atomic_rows(), warp_rows(), control_rows(), async_rows(), mbarrier_rows(),
                            bulk_rows(), matrix_rows(), mma_rows()})
      for (const Row& row : rows) {
        std::string_view name;
        Pattern p = parse(row, name);
        (*made)[name].push_back(std::move(p));
      }
    return made;
  }();
  return *instance;
}

}  // namespace

const Row* find_row(std::string_view opcode, std::vector<std::string_view>& mods) {
  const size_t dot = std::min(opcode.find('.'), opcode.size());
  mods = split(opcode.substr(dot));
  const auto found = table().find(opcode.substr(0, dot));
  if (found == table().end()) return nullptr;
  for (const Pattern& p : found->second)
    if (match(p, mods)) return p.row;
  const std::string_view name = found->first;
  if (name == "atom" || name == "red" || name == "ld" || name == "st")
    for (const Pattern& p : found->second)
      if (match_unordered(p, mods)) return p.row;
  return nullptr;
}

}  // namespace cudanalyst::isa
