// Small faults, and changes that are none, put into a PTX module: one each, by a fixed seed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ptxwire::ptx::agreement {

enum class Mutation : uint8_t {
  swap_tokens,  ///< two neighbours of one statement
  delete_token,
  double_token,
  delete_modifier,
  double_modifier,
  change_modifier,  ///< for another word that the module or the table has
  change_type,
  change_operand,  ///< for another operand of the module
  delete_operand,
  add_operand,
  undefined_name,
  change_number,
  change_target,
  older_version,
  delete_statement,
  double_statement,
  count
};

std::string_view name(Mutation mutation);

struct Mutant {
  std::string text;
  Mutation mutation = Mutation::count;
  uint32_t line = 0;  ///< where, 1-based
};

/// A mutant of `module`; the same for the same seed. The text is the module's own where the fault that the
/// seed asks for has no place in it.
Mutant mutate(std::string_view module, uint64_t seed);

}  // namespace ptxwire::ptx::agreement
