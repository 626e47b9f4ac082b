#include "words.hpp"

#include <charconv>

#include "failure.hpp"

namespace cudanalyst::executor {
namespace {

[[noreturn]] void refuse(const char* what, std::string_view word, const std::string& why) {
  throw BadCommand(std::string(what) + " `" + std::string(word.substr(0, 60)) + "` " + why);
}

template <typename Number>
Number parse(std::string_view word, int base, const char* what, const char* kind) {
  Number value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, base);
  if (error == std::errc::result_out_of_range) refuse(what, word, "is too large");
  if (error != std::errc() || end != word.data() + word.size()) refuse(what, word, std::string("is not ") + kind);
  return value;
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

std::string_view Words::next(const char* what) {
  if (!more_) throw BadCommand(std::string(what) + " is missing");
  const size_t end = rest_.find(' ');
  const std::string_view word = rest_.substr(0, end);
  more_ = end != std::string_view::npos;
  rest_ = more_ ? rest_.substr(end + 1) : std::string_view();
  if (word.empty()) throw BadCommand(std::string(what) + " is empty: one space between words, none at the ends");
  return word;
}

uint64_t Words::number(const char* what, uint64_t most) {
  const auto word = next(what);
  const auto value = parse<uint64_t>(word, 10, what, "a whole number");
  if (value > most) refuse(what, word, "is more than " + std::to_string(most));
  return value;
}

int64_t Words::signed_number(const char* what, int64_t least, int64_t most) {
  const auto word = next(what);
  const auto value = parse<int64_t>(word, 10, what, "a whole number");
  if (value < least || value > most) refuse(what, word, "is not between " + std::to_string(least) + " and " + std::to_string(most));
  return value;
}

uint64_t Words::address(const char* what) {
  const auto word = next(what);
  if (word.starts_with("0x")) refuse(what, word, "must be hexadecimal without 0x");
  return parse<uint64_t>(word, 16, what, "hexadecimal");
}

std::vector<uint8_t> Words::bytes(const char* what) {
  const auto word = next(what);
  if (word.size() % 2) refuse(what, word, "has an odd number of hexadecimal digits");
  std::vector<uint8_t> data(word.size() / 2);
  for (size_t i = 0; i < data.size(); i++) {
    const int high = digit(word[2 * i]), low = digit(word[2 * i + 1]);
    if (high < 0 || low < 0) refuse(what, word, "is not hexadecimal (lower case)");
    data[i] = static_cast<uint8_t>(high * 16 + low);
  }
  return data;
}

void Words::end() const {
  if (more_) throw BadCommand("`" + std::string(rest_.substr(0, 60)) + "` is more than this takes");
}

std::string hexadecimal(const void* data, size_t bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (size_t i = 0; i < bytes; i++) {
    const uint8_t byte = static_cast<const uint8_t*>(data)[i];
    out += {digits[byte >> 4], digits[byte & 15]};
  }
  return out;
}

}  // namespace cudanalyst::executor
