// Rules between the modifiers of one instruction that would multiply rows if they were written as rows.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace ptxwire::ptx {

enum class ModifierRelation : uint8_t {
  requires_one_of,  ///< with one of `words`, one of `others` must be there
  excludes,         ///< with one of `words`, none of `others` may be there
};

/// `heads`, `words` and `others` are lists with blanks between; a trailing '*' matches any rest.
struct ModifierRule {
  std::string_view heads;
  std::string_view words;
  ModifierRelation relation;
  std::string_view others;
  uint8_t operands = 0;  ///< of forms with so many operands only; 0: of all
};

std::span<const ModifierRule> modifier_rules();

/// Is `word` in a list such as "L1::* const"?
bool in_word_list(std::string_view list, std::string_view word);

}  // namespace ptxwire::ptx
