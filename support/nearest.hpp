// The nearest spelling of a word: what an error message about an unknown name suggests.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ptxwire {

/// Fewest insertions, deletions, replacements and swaps of neighbours that turn `a` into `b` (optimal string
/// alignment), ignoring ASCII case.
[[nodiscard]] size_t edit_distance(std::string_view a, std::string_view b);

/// The word of `known` nearest to `wanted`, the first of equals; empty if none is near enough to be what was
/// meant (more than a third of the longer word, and more than 2, edits away).
[[nodiscard]] std::string nearest(std::string_view wanted, std::span<const std::string_view> known);
[[nodiscard]] std::string nearest(std::string_view wanted, std::span<const std::string> known);

/// The hint "did you mean 'WORD'?" with the word nearest to `wanted`; empty if none is near enough.
[[nodiscard]] std::string suggestion(std::string_view wanted, std::span<const std::string_view> known);
[[nodiscard]] std::string suggestion(std::string_view wanted, std::span<const std::string> known);

}  // namespace ptxwire
