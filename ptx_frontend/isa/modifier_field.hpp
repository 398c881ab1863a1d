// What a modifier word means: the field of Modifiers it sets and the value it takes there.
#pragma once

#include <cstdint>
#include <string_view>

#include "ptx_frontend/isa/types.hpp"

namespace ptxwire::ptx {

/// The field names of the table notation. `word` is accepted and sets nothing.
enum class ModifierField : uint8_t {
  word,
  flag,
  type,
  stype,
  space,
  sspace,
  rnd,
  cmp,
  boolean,
  half,
  order,
  scope,
  cache,
  l1,
  l2,
  l2b,
  prefetch,
  op,
  shfl,
  vote,
  match,
  prmt,
  shift,
  bar,
  completion,
  vec,
  testp,
  policy,
  level,
  proxy,
  count
};

/// The field of a group name such as "type" or "order"; count if there is none of that name.
ModifierField modifier_field(std::string_view name);

/// Sets the field from the word ("acquire", "shared::cta", "v4"); false if the word means nothing there.
bool set_modifier(Modifiers& modifiers, ModifierField field, std::string_view word);

/// Type of a `u32`-like word; Type::none if it is none.
Type type_from_word(std::string_view word);

}  // namespace ptxwire::ptx
