// The one table of scenario keys: reading a file, overriding one key, listing and messages all come from it.
#pragma once

#include <cstdint>
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

/// Families of kernels that a key means something for.
using KernelFamilies = uint16_t;
constexpr KernelFamilies family_bit(KernelFamily family) {
  return static_cast<KernelFamilies>(1U << static_cast<unsigned>(family));
}

struct ScenarioKey {
  std::string_view name;
  std::string_view accepts;  ///< unit of a count, or the accepted words
  std::string_view meaning;
  /// Errors name neither file nor line.
  Expected<void> (*set)(Scenario&, const ScenarioKey&, const ScenarioValue&);
  std::string (*get)(const Scenario&);
  KernelFamilies families;
  [[nodiscard]] bool fits(KernelFamily family) const { return (families & family_bit(family)) != 0; }
};

std::span<const ScenarioKey> scenario_key_table();

/// The word for a family in a scenario file.
std::string_view kernel_family_name(KernelFamily family);

/// Error for a key that is not in the table, with the nearest one as the hint.
Expected<const ScenarioKey*> find_scenario_key(std::string_view name);

}  // namespace ptxwire::sim
