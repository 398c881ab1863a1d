#include "sim/study/glob.hpp"

#include <algorithm>
#include <string>

namespace ptxwire::sim {
namespace {

/// Linear in time for patterns without braces: on a mismatch, the last `*` takes one character more.
bool match_stars(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace

bool glob_match(std::string_view pattern, std::string_view text) {
  const size_t open = pattern.find('{');
  const size_t close = open == std::string_view::npos ? open : pattern.find('}', open);
  if (close == std::string_view::npos) return match_stars(pattern, text);
  // The literal part before a brace cuts most candidates off before the alternatives are tried.
  const std::string_view before = pattern.substr(0, open);
  if (before.find_first_of("*?") == std::string_view::npos && !text.starts_with(before)) return false;
  std::string_view choices = pattern.substr(open + 1, close - open - 1);
  while (true) {
    const size_t comma = std::min(choices.find(','), choices.size());
    const std::string tried =
        std::string(before) + std::string(choices.substr(0, comma)) + std::string(pattern.substr(close + 1));
    if (glob_match(tried, text)) return true;
    if (comma == choices.size()) return false;
    choices.remove_prefix(comma + 1);
  }
}

}  // namespace ptxwire::sim
