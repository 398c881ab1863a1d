// Patterns that select rows by id.
#pragma once

#include <string_view>

namespace ptxwire::sim {

/// Whether the whole of `text` matches `pattern`: `*` any characters, `?` one, `{a,b}` one of several (not
/// nested); every other character itself.
[[nodiscard]] bool glob_match(std::string_view pattern, std::string_view text);

}  // namespace ptxwire::sim
