// Calls a C function whose parameters are known only at run time.
//
// On x86-64 (System V) and arm64 (AAPCS64) integers and pointers, and floats and doubles, are assigned to registers independently of
// each other; integers that do not fit go to the stack in order, in slots of 8 bytes, and the caller removes them. So one fixed
// signature, all integers first and then at most eight doubles, passes any mixture: what the callee does not take is ignored.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

namespace cudanalyst::runner {

constexpr size_t most_integers = 32, most_floats = 8;

struct Arguments {
  std::array<uint64_t, most_integers> integers{};
  std::array<double, most_floats> floats{};
  size_t integer_count = 0, float_count = 0;

  void add_integer(uint64_t value) { integers[integer_count++] = value; }
  void add_double(double value) { floats[float_count++] = value; }
  // A float lies in the low half of its register.
  void add_float(float value) { add_double(std::bit_cast<double>(uint64_t{std::bit_cast<uint32_t>(value)})); }
};

template <typename Result, size_t... I, size_t... F>
Result invoke_spread(void* function, const Arguments& arguments, std::index_sequence<I...>, std::index_sequence<F...>) {
  using Signature = Result (*)(decltype((void)I, uint64_t{})..., decltype((void)F, double{})...);
  return reinterpret_cast<Signature>(function)(arguments.integers[I]..., arguments.floats[F]...);
}

template <typename Result>
Result invoke(void* function, const Arguments& arguments) {
  return invoke_spread<Result>(function, arguments, std::make_index_sequence<most_integers>{}, std::make_index_sequence<most_floats>{});
}

// In a handler: what FUNCTION threw, with what it says of itself.
inline std::string thrown(const std::string& function) {
  try {
    throw;
  } catch (const std::exception& exception) {
    const char* what = exception.what();
    return function + " threw an exception" + (what && *what ? std::string(": ") + what : "");
  } catch (...) { return function + " threw an exception"; }
}

}  // namespace cudanalyst::runner
