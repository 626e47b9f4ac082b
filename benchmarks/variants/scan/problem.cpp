// Inclusive prefix sums of n numbers.
#include "../problem.hpp"

extern "C" const Problem* problem() {
  static const Problem p{"scan",
                         {{1 << 17}, {1 << 21}, {1 << 24}},
                         [](const long* n) {
                           return std::vector<Array>{integers("x", static_cast<size_t>(n[0]), 1, 16, Type::u32),
                                                     zeros("y", Type::u32, static_cast<size_t>(n[0])), zeros("sums", Type::u32, 1 << 18, false)};
                         },
                         [](const long* n, std::vector<Array>& x) {
                           uint32_t sum = 0;
                           for (long i = 0; i < n[0]; ++i) x[1].as<uint32_t>()[i] = sum += x[0].as<uint32_t>()[i];
                         },
                         0};
  return &p;
}
