// The text of one trace: bounded, and closed by a refusal.
#pragma once
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "api/backend.hpp"

namespace cudanalyst::record {

std::string hexadecimal(std::span<const uint8_t> bytes);
std::string hexadecimal(uint64_t number);

class Writer {
 public:
  // A refusal that came before this trace stands in it too.
  void open();
  // Whether the record was taken: none is once something has been refused.
  bool line(const std::string& text);
  void note(const std::string& text);  // a query: left out when met before, or when there are too many
  // `text` goes on after the call's name. The first refusal stands, unless what could not be recorded is followed by what the contract forbids.
  void refuse(Refusal kind, std::string_view call, std::string_view text);
  bool refused() const { return !refusal_.empty(); }
  std::string close(int status, const std::string& error);

 private:
  std::string text_ = "cudanalyst-trace 1\n", refusal_;
  bool contract_ = false;  // what was refused breaks the contract
  size_t records_ = 0;
  std::set<std::string> notes_;
};

}  // namespace cudanalyst::record
