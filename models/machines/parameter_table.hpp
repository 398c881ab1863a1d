// The one list of machine parameters: key in the file, member it fills, dimension, and the range that makes
// sense. Loading, setting one by name, listing and messages all come from it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "models/machines/machine.hpp"
#include "models/machines/quantity.hpp"

namespace ptxwire::models {

struct Parameter {
  std::string key;  ///< "nvlink.header_bytes": table and key of the machine file
  Dimension dimension;
  double stored_unit;       ///< unit of the member in base units of the dimension (1e3 for a member in ns)
  double minimum, maximum;  ///< in the member's unit, both allowed
  bool whole;               ///< the member is an integer
  unsigned index;           ///< passed to get and set, for arrays
  double (*get)(const Machine&, unsigned index);
  void (*set)(Machine&, unsigned index, double value);
};

/// All parameters, in the order of machine.hpp.
std::span<const Parameter> parameter_table();

/// Null if there is none of this name.
const Parameter* find_parameter(std::string_view key);

/// The known key that `key` was probably meant to be; empty if none is near.
std::string nearest_parameter(std::string_view key);

/// Converts and range-checks `value` in `unit` and stores it. Errors name no file.
Expected<void> store_parameter(Machine& machine, const Parameter& parameter, double value,
                               std::string_view unit);

}  // namespace ptxwire::models
