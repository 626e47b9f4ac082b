#include "../check/check.hpp"
#include "../prof/profile.hpp"

namespace cudanalyst {

u64 launches_made();

void finish_report() {
  static std::atomic<bool> finished{false};
  if (finished.exchange(true)) return;
  if (config().leaks && (config().checks & memcheck)) report_leaks();
  if (config().mode == Mode::check) write_finding_counts();
  if (config().mode == Mode::profile) write_profiles();
  const u64 n = launches_made();
  if (n > 1000) report_line("{\"type\":\"launches_omitted\",\"count\":" + std::to_string(n - 1000) + "}");
}

}  // namespace cudanalyst
