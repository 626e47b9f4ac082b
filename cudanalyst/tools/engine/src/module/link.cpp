// Separately compiled PTX put together: one text, in which the files of source positions are numbered anew.
#include <algorithm>
#include <charconv>

#include "../engine.hpp"

namespace cudanalyst {
namespace {

// Adds to the number at the start of the text, after blanks; false where there is none.
bool shift_number(std::string_view& rest, uint32_t by, std::string& out) {
  const size_t blanks = std::min(rest.find_first_not_of(" \t"), rest.size());
  uint32_t number = 0;
  const char* end = rest.data() + rest.size();
  const auto [after, error] = std::from_chars(rest.data() + blanks, end, number);
  if (error != std::errc{}) return false;
  out.append(rest.substr(0, blanks)).append(std::to_string(number + by));
  rest = {after, static_cast<size_t>(end - after)};
  return true;
}

void copy_line(std::string_view line, uint32_t shift, std::string& out) {
  const size_t start = std::min(line.find_first_not_of(" \t"), line.size());
  const std::string_view words = line.substr(start);
  for (const std::string_view directive : {".file", ".loc"}) {
    if (!words.starts_with(directive)) continue;
    out.append(line.substr(0, start)).append(directive);
    std::string_view rest = words.substr(directive.size());
    if (!shift_number(rest, shift, out)) break;
    constexpr std::string_view call = "inlined_at";
    if (const size_t at = rest.find(call); at != std::string_view::npos) {
      out.append(rest.substr(0, at + call.size()));
      rest = rest.substr(at + call.size());
      shift_number(rest, shift, out);
    }
    out.append(rest).push_back('\n');
    return;
  }
  out.append(line).push_back('\n');
}

}  // namespace

std::string link_ptx(const std::vector<std::string_view>& texts) {
  constexpr uint32_t files_each = 10000;
  std::string linked;
  for (size_t k = 0; k < texts.size(); k++)
    for (std::string_view rest = texts[k]; !rest.empty();) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      copy_line(rest.substr(0, end), static_cast<uint32_t>(k) * files_each, linked);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  return linked;
}

}  // namespace cudanalyst
