// The sum of n numbers.
#include "../problem.hpp"

extern "C" const Problem* problem() {
  static const Problem p{"reduction",
                         {{1 << 18}, {1 << 22}, {1 << 24}},
                         [](const long* n) {
                           return std::vector<Array>{floats("x", static_cast<size_t>(n[0]), 1, 0, 1), zeros("partial", Type::f32, 65536, false),
                                                     zeros("sum", Type::f32, 1)};
                         },
                         [](const long* n, std::vector<Array>& x) {
                           double sum = 0;
                           for (long i = 0; i < n[0]; ++i) sum += x[0].as<float>()[i];
                           x[2].as<float>()[0] = static_cast<float>(sum);
                         },
                         1e-3};
  return &p;
}
