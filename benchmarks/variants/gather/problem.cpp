// y[i] = table[index[i]], n indices into a table of m.
#include "../problem.hpp"

extern "C" const Problem* problem() {
  static const Problem p{"gather",
                         {{1 << 17, 1 << 12}, {1 << 21, 1 << 20}, {1 << 24, 1 << 24}},
                         [](const long* n) {
                           const auto m = static_cast<size_t>(n[0]);
                           return std::vector<Array>{integers("index", m, 1, static_cast<uint64_t>(n[1])),
                                                     floats("table", static_cast<size_t>(n[1]), 2), zeros("y", Type::f32, m)};
                         },
                         [](const long* n, std::vector<Array>& x) {
                           for (long i = 0; i < n[0]; ++i) x[2].as<float>()[i] = x[1].as<float>()[x[0].as<int>()[i]];
                         },
                         0};
  return &p;
}
