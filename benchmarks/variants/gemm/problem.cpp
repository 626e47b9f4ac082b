// c = a b, row-major n x n.
#include "../problem.hpp"

extern "C" const Problem* problem() {
  static const Problem p{"gemm",
                         {{256}, {1024}, {2048}},
                         [](const long* n) {
                           const auto count = static_cast<size_t>(n[0] * n[0]);
                           return std::vector<Array>{floats("a", count, 1), floats("b", count, 2), zeros("c", Type::f32, count)};
                         },
                         [](const long* size, std::vector<Array>& x) {
                           const long n = size[0];
                           std::vector<double> row(static_cast<size_t>(n));
                           for (long i = 0; i < n; ++i) {
                             std::fill(row.begin(), row.end(), 0);
                             for (long k = 0; k < n; ++k)
                               for (long j = 0; j < n; ++j)
                                 row[static_cast<size_t>(j)] += static_cast<double>(x[0].as<float>()[i * n + k]) * x[1].as<float>()[k * n + j];
                             for (long j = 0; j < n; ++j) x[2].as<float>()[i * n + j] = static_cast<float>(row[static_cast<size_t>(j)]);
                           }
                         },
                         1e-5};
  return &p;
}
