// y = x transposed, n x n.
#include "../problem.hpp"

extern "C" const Problem* problem() {
  static const Problem p{"transpose",
                         {{512}, {2048}, {8192}},
                         [](const long* n) {
                           const auto count = static_cast<size_t>(n[0] * n[0]);
                           return std::vector<Array>{floats("x", count, 1), zeros("y", Type::f32, count)};
                         },
                         [](const long* size, std::vector<Array>& x) {
                           const long n = size[0];
                           for (long i = 0; i < n; ++i)
                             for (long j = 0; j < n; ++j) x[1].as<float>()[j * n + i] = x[0].as<float>()[i * n + j];
                         }};
  return &p;
}
