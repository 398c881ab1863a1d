// The result file of sweeps: one row per point, in SQLite. A process killed at any moment leaves every point
// whole or absent.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/study/database.hpp"
#include "sim/study/outcome.hpp"
#include "sim/study/runner.hpp"
#include "support/error.hpp"

namespace ptxwire::sim {

/// A point that was run. Where it failed for a reason that another try would not change, `error` says so and
/// `outcome` is empty.
struct SweepResult {
  std::string key;  ///< Runner::fingerprint of the job
  std::string scenario;
  std::vector<std::string> settings;
  std::optional<Outcome> outcome;  ///< wall_s and peak_rss_bytes as of the run that computed it
  std::string error;
};

/// Whose content does not depend on who computed it, when, and how fast: those figures have columns of their
/// own.
class SweepStore {
 public:
  static constexpr int kSchemaVersion = 1;

  /// Opens or creates. Errors: no SQLite file, one that is not of a sweep, one of another schema version
  /// (with what to do), a place that cannot be written.
  static Expected<SweepStore> open(const std::string& path);

  [[nodiscard]] Expected<std::optional<SweepResult>> find(const std::string& key) const;
  /// In one transaction, on disk when it returns. What is there already stays: equal keys mean equal results.
  Expected<void> put(const SweepResult& result);
  /// All points, by scenario and settings.
  [[nodiscard]] Expected<std::vector<SweepResult>> all() const;

 private:
  explicit SweepStore(DatabaseHandle database) : database_(std::move(database)) {}
  DatabaseHandle database_;
};

/// A result as text, for other processes, and back. Error: no such text.
std::string sweep_result_text(const SweepResult& result);
Expected<SweepResult> sweep_result_from_text(std::string_view text);

}  // namespace ptxwire::sim
