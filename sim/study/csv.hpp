// Comma-separated values as in RFC 4180: quoted fields may hold commas, doubled quotes and line breaks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/error.hpp"

namespace ptxwire::sim {

struct CsvRecord {
  uint32_t line = 0;  ///< 1-based line where the record starts
  std::vector<std::string> fields;
};

/// All records, the header included; blank lines are skipped. Errors: a quote that never closes, text after a
/// closing quote, a record with another number of fields than the first.
Expected<std::vector<CsvRecord>> parse_csv(std::string_view text, const std::string& path);

/// A field as it stands in a record: quoted where it holds a comma, a quote or a line break.
std::string csv_field(std::string_view text);

}  // namespace ptxwire::sim
