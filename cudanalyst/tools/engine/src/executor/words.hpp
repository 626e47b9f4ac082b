// A line as tokens separated by single spaces, taken from left to right. Everything that does not fit is a BadCommand.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cudanalyst::executor {

class Words {
 public:
  explicit Words(std::string_view line) : rest_(line), more_(true) {}

  bool more() const { return more_; }
  std::string_view next(const char* what);
  std::string text(const char* what) { return std::string(next(what)); }
  // Decimal, at most `most`.
  uint64_t number(const char* what, uint64_t most = UINT64_MAX);
  int64_t signed_number(const char* what, int64_t least, int64_t most);
  // Hexadecimal without 0x, at most 16 digits.
  uint64_t address(const char* what);
  // Hexadecimal, two digits a byte.
  std::vector<uint8_t> bytes(const char* what);
  // Nothing may be left.
  void end() const;

 private:
  std::string_view rest_;
  bool more_;
};

std::string hexadecimal(const void* data, size_t bytes);

}  // namespace cudanalyst::executor
