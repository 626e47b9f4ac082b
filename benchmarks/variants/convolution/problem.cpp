// A 7 x 7 filter on an n x n image, which has a border of 3.
#include "../problem.hpp"

extern "C" const Problem* problem() {
  static const Problem p{"convolution",
                         {{256}, {1024}, {4096}},
                         [](const long* n) {
                           const auto m = static_cast<size_t>(n[0]);
                           return std::vector<Array>{floats("x", (m + 6) * (m + 6), 1), floats("filter", 49, 2), zeros("y", Type::f32, m * m)};
                         },
                         [](const long* n, std::vector<Array>& x) {
                           const long m = n[0], wide = m + 6;
                           for (long i = 0; i < m; ++i)
                             for (long j = 0; j < m; ++j) {
                               double sum = 0;
                               for (long p = 0; p < 7; ++p)
                                 for (long q = 0; q < 7; ++q)
                                   sum += static_cast<double>(x[0].as<float>()[(i + p) * wide + j + q]) * x[1].as<float>()[p * 7 + q];
                               x[2].as<float>()[i * m + j] = static_cast<float>(sum);
                             }
                         },
                         1e-5};
  return &p;
}
