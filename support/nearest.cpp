#include "support/nearest.hpp"

#include <algorithm>
#include <vector>

namespace ptxwire {
namespace {

constexpr size_t kLongestWord = 256;  // the work grows with the product of the lengths

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

template <typename Word>
std::string nearest_of(std::string_view wanted, std::span<const Word> known) {
  std::string_view best;
  size_t best_distance = 0;
  for (const Word& word : known) {
    const size_t longer = std::max(wanted.size(), std::string_view(word).size());
    const size_t shorter = std::min(wanted.size(), std::string_view(word).size());
    const size_t allowed = std::max<size_t>(2, longer / 3);
    if (longer - shorter > allowed || shorter > kLongestWord) continue;
    const size_t distance = edit_distance(wanted, word);
    // Replacing every letter is not a misspelling, however short the word.
    if (distance > allowed || distance >= std::max(wanted.size(), std::string_view(word).size())) continue;
    if (best.empty() || distance < best_distance) {
      best = word;
      best_distance = distance;
    }
  }
  return std::string(best);
}

std::string question(const std::string& meant) {
  return meant.empty() ? std::string() : "did you mean '" + meant + "'?";
}

}  // namespace

size_t edit_distance(std::string_view a, std::string_view b) {
  // Rows i-2, i-1 and i of the table of distances between prefixes of a and b.
  std::vector<size_t> before(b.size() + 1), previous(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (same ? 0 : 1)});
      const bool swapped =
          i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(previous);
    previous.swap(row);
  }
  return previous[b.size()];
}

std::string nearest(std::string_view wanted, std::span<const std::string_view> known) {
  return nearest_of(wanted, known);
}

std::string nearest(std::string_view wanted, std::span<const std::string> known) {
  return nearest_of(wanted, known);
}

std::string suggestion(std::string_view wanted, std::span<const std::string_view> known) {
  return question(nearest(wanted, known));
}

std::string suggestion(std::string_view wanted, std::span<const std::string> known) {
  return question(nearest(wanted, known));
}

}  // namespace ptxwire
