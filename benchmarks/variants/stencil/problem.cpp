// One step of a five-point stencil on an n x n grid; the border is copied.
#include "../problem.hpp"

extern "C" const Problem* problem() {
  static const Problem p{"stencil",
                         {{512}, {2048}, {8192}},
                         [](const long* n) {
                           const auto count = static_cast<size_t>(n[0] * n[0]);
                           return std::vector<Array>{floats("x", count, 1), zeros("y", Type::f32, count)};
                         },
                         [](const long* n, std::vector<Array>& x) {
                           const long m = n[0];
                           const float* u = x[0].as<float>();
                           for (long i = 0; i < m; ++i)
                             for (long j = 0; j < m; ++j) {
                               const bool inner = i > 0 && j > 0 && i < m - 1 && j < m - 1;
                               const long k = i * m + j;
                               x[1].as<float>()[k] = inner ? 0.2f * (u[k] + u[k - 1] + u[k + 1] + u[k - m] + u[k + m]) : u[k];
                             }
                         },
                         1e-5};
  return &p;
}
