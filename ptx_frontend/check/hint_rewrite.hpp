// Cache hints of loads and stores changed in the text of a module: what would the kernel do with others?
#pragma once

#include <string>
#include <vector>

#include "ptx_frontend/frontend.hpp"

namespace ptxwire::ptx {

struct RewrittenText {
  std::string text;    ///< lines stay where they are
  size_t changed = 0;  ///< instructions that a rule fitted
};

/// The text of a module with its hints as the rules say; the same text if it does not parse and check.
/// Whether the result does is for the checker to say.
RewrittenText rewrite_hints(const std::string& text, const std::string& path,
                            const std::vector<HintRule>& rules);

}  // namespace ptxwire::ptx
