// Prices of n calls and puts.
#include "../problem.hpp"

#include <cmath>

extern "C" const Problem* problem() {
  static const Problem p{
      "black_scholes",
      {{1 << 16}, {1 << 20}, {1 << 24}},
      [](const long* n) {
        const auto m = static_cast<size_t>(n[0]);
        Array spot = floats("spot", m, 1, 5, 30), strike = floats("strike", m, 2, 1, 100), years = floats("years", m, 3, 0.25f, 10);
        Array records = zeros("records", Type::f32, 3 * m, false);
        for (size_t i = 0; i < m; ++i) {
          records.as<float>()[3 * i] = spot.as<float>()[i];
          records.as<float>()[3 * i + 1] = strike.as<float>()[i];
          records.as<float>()[3 * i + 2] = years.as<float>()[i];
        }
        return std::vector<Array>{spot, strike, years, records, zeros("call", Type::f32, m), zeros("put", Type::f32, m)};
      },
      [](const long* n, std::vector<Array>& x) {
        for (long i = 0; i < n[0]; ++i) {
          const double s = x[0].as<float>()[i], k = x[1].as<float>()[i], t = x[2].as<float>()[i], r = 0.02, v = 0.3;
          const double d = (std::log(s / k) + (r + v * v / 2) * t) / (v * std::sqrt(t)), e = d - v * std::sqrt(t), w = k * std::exp(-r * t);
          const auto normal = [](double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); };
          x[4].as<float>()[i] = static_cast<float>(s * normal(d) - w * normal(e));
          x[5].as<float>()[i] = static_cast<float>(w * normal(-e) - s * normal(-d));
        }
      },
      2e-3};
  return &p;
}
