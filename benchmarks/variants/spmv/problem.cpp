// y = A x, A sparse in CSR: rows of very different length.
#include "../problem.hpp"

extern "C" const Problem* problem() {
  static const Problem p{"spmv",
                         {{1 << 13}, {1 << 17}, {1 << 20}},
                         [](const long* n) {
                           // Columns of a row lie near each other for most rows, anywhere for the others.
                           const auto m = static_cast<size_t>(n[0]);
                           Array start = zeros("start", Type::i32, m + 1, false);
                           uint64_t state = 1;
                           int total = 0;
                           for (size_t i = 0; i < m; ++i) {
                             start.as<int>()[i] = total;
                             const uint64_t r = draw(state) % 1000;
                             total += r < 10 ? 128 + static_cast<int>(r) * 30 : 4 + static_cast<int>(r % 16);
                           }
                           start.as<int>()[m] = total;
                           Array column = zeros("column", Type::i32, static_cast<size_t>(total), false);
                           Array row = zeros("row", Type::i32, static_cast<size_t>(total), false);
                           for (size_t i = 0; i < m; ++i)
                             for (int k = start.as<int>()[i]; k < start.as<int>()[i + 1]; ++k) {
                               const uint64_t r = draw(state);
                               column.as<int>()[k] = static_cast<int>(i % 4 ? (i + r % 64) % m : r % m);
                               row.as<int>()[k] = static_cast<int>(i);
                             }
                           return std::vector<Array>{
                               start, column, floats("value", static_cast<size_t>(total), 2), floats("x", m, 3), zeros("y", Type::f32, m), row};
                         },
                         [](const long* n, std::vector<Array>& x) {
                           for (long i = 0; i < n[0]; ++i) {
                             double sum = 0;
                             for (int k = x[0].as<int>()[i]; k < x[0].as<int>()[i + 1]; ++k)
                               sum += static_cast<double>(x[2].as<float>()[k]) * x[3].as<float>()[x[1].as<int>()[k]];
                             x[4].as<float>()[i] = static_cast<float>(sum);
                           }
                         },
                         1e-5};
  return &p;
}
