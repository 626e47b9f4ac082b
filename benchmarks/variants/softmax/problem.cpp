// Softmax of each of m rows of k numbers.
#include "../problem.hpp"

#include <cmath>

extern "C" const Problem* problem() {
  static const Problem p{"softmax",
                         {{256, 512}, {4096, 1024}, {8192, 4096}},
                         [](const long* n) {
                           const auto count = static_cast<size_t>(n[0] * n[1]);
                           return std::vector<Array>{floats("x", count, 1, -4, 4), zeros("y", Type::f32, count)};
                         },
                         [](const long* n, std::vector<Array>& x) {
                           for (long i = 0; i < n[0]; ++i) {
                             const float* row = x[0].as<float>() + i * n[1];
                             double sum = 0;
                             for (long j = 0; j < n[1]; ++j) sum += std::exp(static_cast<double>(row[j]));
                             for (long j = 0; j < n[1]; ++j)
                               x[1].as<float>()[i * n[1] + j] = static_cast<float>(std::exp(static_cast<double>(row[j])) / sum);
                           }
                         },
                         1e-4};
  return &p;
}
