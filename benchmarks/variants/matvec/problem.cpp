// y = A x, A row-major n x n.
#include "../problem.hpp"

extern "C" const Problem* problem() {
  static const Problem p{"matvec",
                         {{512}, {2048}, {8192}},
                         [](const long* n) {
                           const auto m = static_cast<size_t>(n[0]);
                           return std::vector<Array>{floats("a", m * m, 1), floats("x", m, 2), zeros("y", Type::f32, m)};
                         },
                         [](const long* n, std::vector<Array>& x) {
                           for (long i = 0; i < n[0]; ++i) {
                             double sum = 0;
                             for (long j = 0; j < n[0]; ++j) sum += static_cast<double>(x[0].as<float>()[i * n[0] + j]) * x[1].as<float>()[j];
                             x[2].as<float>()[i] = static_cast<float>(sum);
                           }
                         },
                         1e-5};
  return &p;
}
