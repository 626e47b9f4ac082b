// cuTensorMapEncodeTiled for a device that is elsewhere: the arguments are kept, and a token stands for the map.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace cudanalyst::record {

constexpr size_t token_bytes = 128;

struct TensorMap {
  unsigned type = 0, rank = 0;
  uint64_t address = 0;
  std::array<uint64_t, 5> sizes{}, strides{};  // strides: of all dimensions but the first
  std::array<uint32_t, 5> box{}, element_strides{};
  unsigned interleave = 0, swizzle = 0, promotion = 0, fill = 0;

  std::string arguments() const;
};

class TensorMaps {
 public:
  // Writes the token of the map.
  void encode(const TensorMap& map, void* token);
  const TensorMap* find(const void* token) const;
  // Tells each map whose token lies in the bytes, once a trace.
  void declare(std::span<const uint8_t> bytes, const std::function<void(const std::string& token, const TensorMap&)>& tell);
  void forget_declared() { declared_.clear(); }

 private:
  std::map<std::string, TensorMap> maps_;  // by token
  std::set<std::string> declared_;
};

}  // namespace cudanalyst::record
