// Rows of traces/measurements: what real GPUs gave. The columns are documented in the README there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/error.hpp"

namespace ptxwire::sim {

/// What a row may be used for; frozen in the files before anything is fitted.
enum class Role : uint8_t { fit, test, report };
std::string_view role_name(Role role);

struct Measurement {
  std::string id, source_id;
  std::string group;  ///< rows of one group repeat one measurement; never empty: a row alone is its own group
  std::string family;  ///< what an error is averaged over
  std::string gpu;
  std::string machine;                ///< machine file, empty: none models it
  std::string scenario;               ///< scenario file, which may not exist yet
  std::vector<std::string> settings;  ///< "key=value", in the order written
  std::string metric, unit;
  double value = 0;  ///< in `unit`, finite
  Role role = Role::report;
  std::optional<double> cost_s;  ///< estimated wall seconds of one run on two cores
};

/// Parses the text of one file. Errors name `path` and the line: wrong columns, unknown metric, unit or role,
/// a value that is no number, an id that occurs twice.
Expected<std::vector<Measurement>> parse_measurements(std::string_view text, const std::string& path);

/// Whether rows of this metric may be in this unit. Errors name what is accepted.
Expected<void> check_unit(const std::string& metric, const std::string& unit);

/// The text of a file with these rows, which parse_measurements() reads back; every value in the digits that
/// tell it from its neighbours.
std::string measurements_text(const std::vector<Measurement>& rows);

/// Reads every *.csv of `folder` but sources.csv, in order of file name. Ids are unique over all files.
Expected<std::vector<Measurement>> read_measurements(const std::string& folder);

}  // namespace ptxwire::sim
