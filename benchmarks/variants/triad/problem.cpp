// z = x + 3 y, n numbers.
#include "../problem.hpp"

extern "C" const Problem* problem() {
  static const Problem p{"triad",
                         {{1 << 18}, {1 << 22}, {1 << 26}},
                         [](const long* n) {
                           const auto m = static_cast<size_t>(n[0]);
                           return std::vector<Array>{floats("x", m, 1), floats("y", m, 2), zeros("z", Type::f32, m)};
                         },
                         [](const long* n, std::vector<Array>& x) {
                           for (long i = 0; i < n[0]; ++i) x[2].as<float>()[i] = x[0].as<float>()[i] + 3 * x[1].as<float>()[i];
                         },
                         1e-6};
  return &p;
}
