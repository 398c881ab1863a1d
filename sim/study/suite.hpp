// Which measured rows `check` runs, with which settings, and which errors make it fail: traces/suites/*.toml.
//
//   description = "H800 EP8 and H100 one-node rows"
//   sample_above_s = 30                # runs that cost more are sampled where they can be
//   [[rows]]
//   ids = ["h100-ep8-dispatch-h7168-k8-e256-t{1,128}-sm*"]   # globs, see glob.hpp
//   set = ["chunk=6"]                  # beyond what the row itself states
//   scenario = "h800_internode_dispatch_ep16"   # in place of the rows' own: where a source states no machine
//   search = { chunk = [4, 6, 8] }     # instead of one value: the best of them counts
//   [[not_run]]
//   ids = ["h800-ep16-*"]
//   reason = "internode kernels are not in this version"
//   [[threshold]]
//   ids = ["h800-ep8-*"]
//   max_error_pct = 15
//   [[mean_threshold]]
//   name = "H800, groups left out"
//   ids = ["h800-*"]
//   roles = ["test"]                   # left out: all
//   max_mape_pct = 8
//   [[known_miss]]
//   ids = ["h800-ep16-ll-*-0605"]
//   physics = "queues at the way out of a GPU are endless here"
//   max_error_pct = 25                 # in place of the threshold: a known miss may not grow
//
// A suite may be made of others: include = ["default", "internode"], files beside it. Its own rows and
// thresholds go before theirs.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/study/measurement.hpp"
#include "support/error.hpp"

namespace ptxwire::sim {

/// One key and the values to try.
struct SearchAxis {
  std::string key;
  std::vector<std::string> values;
};

struct SuiteRows {
  std::vector<std::string> ids;  ///< globs
  std::vector<std::string> set;  ///< "key=value"
  std::string scenario;          ///< in place of the rows' own, which may be of a machine that nobody states
  std::vector<SearchAxis> search;
  double sample_above_s = std::numeric_limits<double>::infinity();  ///< of a row's cost_s
};

struct SuiteExclusion {
  std::vector<std::string> ids;
  std::string reason;
};

struct SuiteThreshold {
  std::vector<std::string> ids;
  double max_error_pct = 0;
};

/// What the mean absolute error of several rows may be.
struct MeanThreshold {
  std::string name;
  std::vector<std::string> ids;  ///< globs
  std::vector<Role> roles;       ///< empty: all
  double max_mape_pct = 0;
  [[nodiscard]] bool covers(const Measurement& row) const;
};

/// Rows whose error is known, with the physics that is suspected behind it.
struct KnownMiss {
  std::vector<std::string> ids;  ///< globs
  std::string physics;
  std::optional<double> max_error_pct;
};

struct Suite {
  std::string path;
  std::string description;
  std::vector<std::string> include;  ///< names of files beside this one, without ending
  std::vector<SuiteRows> rows;
  std::vector<SuiteExclusion> not_run;
  std::vector<SuiteThreshold> thresholds;
  std::vector<MeanThreshold> mean_thresholds;
  std::vector<KnownMiss> known_misses;

  /// The threshold of a row: of the known miss that names it, else the first that does.
  [[nodiscard]] std::optional<double> max_error_pct(std::string_view id) const;
  [[nodiscard]] const KnownMiss* known_miss(std::string_view id) const;
};

/// Parses a suite file. Errors name the line: TOML syntax, unknown key (with the nearest), wrong type.
Expected<Suite> parse_suite(std::string_view text, const std::string& path);
/// Reads a suite file and what it includes. Errors: as parse_suite(), of any of the files; a file that is not
/// there; suites that include each other.
Expected<Suite> read_suite(const std::string& path);

/// A row to run: one measurement stands for its group, with every combination of settings to try.
struct PlannedRow {
  const Measurement* measurement = nullptr;
  std::string scenario;                              ///< that is run
  std::vector<std::string> repeats;                  ///< ids of the other rows of its group
  std::vector<std::vector<std::string>> candidates;  ///< "key=value" lists, at least one; the best counts
  bool sample = false;  ///< cut short where it can be: its cost is above the suite's limit
};

struct ExcludedRow {
  const Measurement* measurement = nullptr;
  std::string reason;
};

struct Plan {
  std::vector<PlannedRow> rows;
  std::vector<ExcludedRow> not_run;
};

/// Selects from `measurements` (which must outlive the plan) the rows of the suite whose id matches `only`
/// (empty: all). Each group is planned once: by its row that a pattern names, fit and test rows before report
/// rows. Error: a pattern of the suite that matches no measurement at all.
Expected<Plan> plan_suite(const Suite& suite, const std::vector<Measurement>& measurements,
                          const std::string& only);

}  // namespace ptxwire::sim
