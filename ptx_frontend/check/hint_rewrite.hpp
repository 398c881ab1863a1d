// Cache hints of loads and stores changed in the text of a module: what would the kernel do with others?
//
//   ld.v4: L1::no_allocate L2::256B; st.v4: L1::evict_first; ld.nc:
//
// One rule per ';': the words that an instruction must have, and the hints that it has instead of its own
// (none: it loses them). Instructions are weak loads and stores of global memory; the first rule that fits
// counts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/error.hpp"

namespace ptxwire::ptx {

struct HintRule {
  std::vector<std::string> words;  ///< "ld", "v4"
  std::vector<std::string> hints;  ///< "L1::no_allocate"
};

/// Errors: no ':', an instruction other than ld and st, a word that is no cache hint.
Expected<std::vector<HintRule>> parse_hint_rules(std::string_view text);

struct RewrittenText {
  std::string text;    ///< lines stay where they are
  size_t changed = 0;  ///< instructions that a rule fitted
};

/// The text of a module with its hints as the rules say; the same text if it does not parse and check.
/// Whether the result does is for the checker to say.
RewrittenText rewrite_hints(const std::string& text, const std::string& path,
                            const std::vector<HintRule>& rules);

}  // namespace ptxwire::ptx
