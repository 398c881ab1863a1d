// What the messages about operands have in common.
#pragma once

#include <string>
#include <string_view>

#include "ptx_frontend/check/operand_check.hpp"

namespace ptxwire::ptx {

OperandError mismatch(const Operand& operand, std::string message, std::string hint = {});

/// 'name'
std::string quoted(std::string_view name);

/// ".global", or "generic".
std::string_view space_name(Space space);

inline bool is_integer_or_bits(Type type) {
  return is_signed_integer(type) || is_unsigned_integer(type) || is_bits(type);
}

}  // namespace ptxwire::ptx
