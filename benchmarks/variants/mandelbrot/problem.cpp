// Iterations until escape, at most 256, on an n x n grid.
#include "../problem.hpp"

extern "C" const Problem* problem() {
  static const Problem p{"mandelbrot",
                         {{256}, {1024}, {4096}},
                         [](const long* n) { return std::vector<Array>{zeros("count", Type::i32, static_cast<size_t>(n[0] * n[0]))}; },
                         [](const long* n, std::vector<Array>& x) {
                           for (long i = 0; i < n[0]; ++i)
                             for (long j = 0; j < n[0]; ++j) {
                               const float u = -2.0f + 3.0f * static_cast<float>(j) / static_cast<float>(n[0]),
                                           v = -1.5f + 3.0f * static_cast<float>(i) / static_cast<float>(n[0]);
                               float p = 0, q = 0;
                               int k = 0;
                               for (; k < 256 && p * p + q * q < 4.0f; ++k) {
                                 const float r = p * p - q * q + u;
                                 q = 2 * p * q + v;
                                 p = r;
                               }
                               x[0].as<int>()[i * n[0] + j] = k;
                             }
                         },
                         0,
                         0.01};
  return &p;
}
