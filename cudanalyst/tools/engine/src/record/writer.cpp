#include "writer.hpp"

namespace cudanalyst::record {
namespace {

constexpr size_t most_bytes = size_t{4} << 20, most_records = 4096, most_notes = 256, most_text = 1000;
constexpr size_t reserve_bytes = 4096, reserve_records = 4;  // for what closes a trace

// One line of printable ASCII.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, most_text)) out += c >= ' ' && c < 0x7f ? c : '?';
  while (!out.empty() && out.front() == ' ') out.erase(out.begin());
  return out;
}

}  // namespace

std::string hexadecimal(std::span<const uint8_t> bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  out.reserve(2 * bytes.size());
  for (const uint8_t byte : bytes) {
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

std::string hexadecimal(uint64_t number) {
  char text[20];
  std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(number));
  return text;
}

void Writer::open() {
  text_ = "cudanalyst-trace 1\n";
  records_ = 0;
  notes_.clear();
}

bool Writer::line(const std::string& text) {
  if (refused()) return false;
  if (records_ + reserve_records >= most_records) {
    refuse(Refusal::unrecordable, "solve", "asks for more than 4096 operations in one call");
    return false;
  }
  if (text_.size() + text.size() + reserve_bytes > most_bytes) {
    refuse(Refusal::unrecordable, "solve", "brings more than 2 MiB of data from the host");
    return false;
  }
  text_ += text;
  text_ += '\n';
  records_++;
  return true;
}

void Writer::note(const std::string& text) {
  if (notes_.size() < most_notes && notes_.insert(text).second) line(text);
}

void Writer::refuse(Refusal kind, std::string_view call, std::string_view text) {
  if (refused() && (contract_ || kind != Refusal::contract)) return;
  contract_ = kind == Refusal::contract;
  // A colon ends the call's name.
  std::string name = plain(call);
  while (name.find(':') != std::string::npos) name.replace(name.find(':'), 1, ";");
  const std::string why = plain(text);
  refusal_ = std::string("refused ") + (kind == Refusal::contract ? "contract " : "unrecordable ") + name + ": " + why + "\n";
}

std::string Writer::close(int status, const std::string& error) {
  std::string out = text_ + refusal_;
  if (!error.empty() && !refused()) out += "error " + plain(error) + "\n";
  return out + "end " + std::to_string(status) + "\n";
}

}  // namespace cudanalyst::record
