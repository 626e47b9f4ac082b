// Accelerations of n bodies by each other; bodies are x, y, z, mass.
#include "../problem.hpp"

#include <cmath>

extern "C" const Problem* problem() {
  static const Problem p{"nbody",
                         {{1024}, {8192}, {24576}},
                         [](const long* n) {
                           const auto m = static_cast<size_t>(n[0]);
                           Array body = floats("body", 4 * m, 1);
                           Array apart = zeros("apart", Type::f32, 4 * m, false), packed = zeros("packed", Type::f32, 8 * m, false);
                           for (size_t i = 0; i < m; ++i) {
                             body.as<float>()[4 * i + 3] = 1.0f / static_cast<float>(m);
                             for (size_t k = 0; k < 4; ++k)
                               apart.as<float>()[k * m + i] = packed.as<float>()[8 * i + k] = body.as<float>()[4 * i + k];
                           }
                           return std::vector<Array>{body, apart, packed, zeros("acceleration", Type::f32, 4 * m)};
                         },
                         [](const long* n, std::vector<Array>& x) {
                           for (long i = 0; i < n[0]; ++i) {
                             const float* b = x[0].as<float>();
                             double sum[3] = {};
                             for (long j = 0; j < n[0]; ++j) {
                               double d[3], r = 0.01;
                               for (int k = 0; k < 3; ++k) d[k] = static_cast<double>(b[4 * j + k]) - b[4 * i + k], r += d[k] * d[k];
                               for (int k = 0; k < 3; ++k) sum[k] += b[4 * j + 3] * d[k] / (r * std::sqrt(r));
                             }
                             for (int k = 0; k < 3; ++k) x[3].as<float>()[4 * i + k] = static_cast<float>(sum[k]);
                           }
                         },
                         1e-3};
  return &p;
}
