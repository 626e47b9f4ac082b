// Each of m rows of k numbers, centred and scaled; times a gain, plus a bias.
#include "../problem.hpp"

#include <cmath>

extern "C" const Problem* problem() {
  static const Problem p{"layernorm",
                         {{256, 768}, {4096, 768}, {16384, 2048}},
                         [](const long* n) {
                           const auto count = static_cast<size_t>(n[0] * n[1]), k = static_cast<size_t>(n[1]);
                           return std::vector<Array>{floats("x", count, 1, -1, 3), floats("gain", k, 2), floats("bias", k, 3),
                                                     zeros("y", Type::f32, count)};
                         },
                         [](const long* n, std::vector<Array>& x) {
                           const long k = n[1];
                           for (long i = 0; i < n[0]; ++i) {
                             const float* row = x[0].as<float>() + i * k;
                             double sum = 0, squares = 0;
                             for (long j = 0; j < k; ++j) sum += row[j];
                             const double mean = sum / static_cast<double>(k);
                             for (long j = 0; j < k; ++j) squares += (row[j] - mean) * (row[j] - mean);
                             const double scale = 1 / std::sqrt(squares / static_cast<double>(k) + 1e-5);
                             for (long j = 0; j < k; ++j)
                               x[3].as<float>()[i * k + j] = static_cast<float>((row[j] - mean) * scale * x[1].as<float>()[j] + x[2].as<float>()[j]);
                           }
                         },
                         1e-4};
  return &p;
}
