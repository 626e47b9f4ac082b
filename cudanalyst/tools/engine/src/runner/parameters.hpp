// The parameters of solve, as requests and tables give them.
#pragma once
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "invoke.hpp"

namespace cudanalyst::runner {

struct Parameter {
  enum class Kind { buffer, integer32, integer64, float32, float64 };
  Kind kind;
  std::string name;
  std::string dtype, role;  // of a buffer
};

using Sizes = std::vector<std::pair<std::string, int64_t>>;

// Of one directive `param ...`, in words.
inline Parameter read_parameter(const std::vector<std::string>& words) {
  using Kind = Parameter::Kind;
  if (words.size() == 5 && words[1] == "buffer") return {Kind::buffer, words[2], words[3], words[4]};
  static const std::map<std::string, Kind> kinds{
      {"int", Kind::integer32}, {"long", Kind::integer64}, {"float", Kind::float32}, {"double", Kind::float64}};
  if (words.size() != 3 || !kinds.contains(words[1])) throw std::runtime_error("wrong number or form of words");
  return {kinds.at(words[1]), words[2], {}, {}};
}

inline void check_parameters(const std::vector<Parameter>& parameters) {
  size_t floats = 0;
  for (const Parameter& p : parameters) floats += p.kind == Parameter::Kind::float32 || p.kind == Parameter::Kind::float64;
  const size_t integers = parameters.size() - floats + 3;
  if (floats > most_floats || integers > most_integers) throw std::runtime_error("too many parameters: at most 8 of float and double, and 29 others");
}

inline void check_sizes(const Sizes& sizes) {
  if (sizes.size() + 1 > most_integers) throw std::runtime_error("too many sizes");
}

}  // namespace cudanalyst::runner
