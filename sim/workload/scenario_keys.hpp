// The one table of scenario keys: reading a file, overriding one key, listing and messages all come from it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sim/workload/scenario.hpp"

namespace ptxwire::sim {

/// A value as written. `kind` is known for files; in an override it is `text`, which may become anything.
struct ScenarioValue {
  enum class Kind : uint8_t { whole, real, boolean, quoted, text };
  Kind kind = Kind::text;
  std::string text;
};

struct ScenarioKey {
  std::string_view name;
  std::string_view accepts;  ///< unit of a count, or the accepted words
  std::string_view meaning;
  /// Errors name neither file nor line.
  Expected<void> (*set)(Scenario&, const ScenarioKey&, const ScenarioValue&);
  std::string (*get)(const Scenario&);
};

std::span<const ScenarioKey> scenario_key_table();

/// Error for a key that is not in the table, with the nearest one as the hint.
Expected<const ScenarioKey*> find_scenario_key(std::string_view name);

}  // namespace ptxwire::sim
