// Counts of n bytes; a quarter of them is one value.
#include "../problem.hpp"

extern "C" const Problem* problem() {
  static const Problem p{"histogram",
                         {{1 << 18}, {1 << 22}, {1 << 24}},
                         [](const long* n) {
                           Array x = integers("x", static_cast<size_t>(n[0]), 1, 256, Type::u8);
                           for (size_t i = 0; i < x.bytes.size(); i += 4) x.bytes[i] = 7;
                           return std::vector<Array>{x, zeros("bins", Type::u32, 256)};
                         },
                         [](const long* n, std::vector<Array>& x) {
                           for (long i = 0; i < n[0]; ++i) x[1].as<uint32_t>()[x[0].bytes[static_cast<size_t>(i)]]++;
                         },
                         0};
  return &p;
}
