#include "tests/fuzz/ptx_mutator.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "ptx_frontend/isa/instruction_form.hpp"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace ptxwire::fuzz {
namespace {

using Random = std::minstd_rand;

bool in_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("_$%.:", c) != nullptr;
}

/// Words that the notation of the table names by sets, and operands that parse in odd places.
constexpr std::array<std::string_view, 66> kOtherWords = {
    ".u8",        ".u16",     ".u32",        ".u64",
    ".s8",        ".s16",     ".s32",        ".s64",
    ".b8",        ".b16",     ".b32",        ".b64",
    ".b128",      ".f16",     ".f16x2",      ".bf16",
    ".bf16x2",    ".f32",     ".f64",        ".pred",
    ".e4m3x2",    ".v2",      ".v4",         ".global",
    ".shared",    ".local",   ".const",      ".shared::cta",
    ".cta",       ".cluster", ".gpu",        ".sys",
    ".reg",       ".param",   ".volatile",   ".L2::cache_hint",
    "%p1",        "!%p1",     "%r1",         "%rd1",
    "%f1",        "%fd1",     "%h1",         "%q1",
    "%tid.x",     "%laneid",  "%clock",      "_",
    "WARP_SZ",    "0",        "-1",          "31",
    "32",         "1024",     "1.5",         "0f7FC00000",
    "{%r1, %r2}", "[%rd1]",   "[%rd1+-4]",   "%p1|%p2",
    "@%p1",       "@!%p1",    "-2147483648", "0xffffffffffffffff",
    "$L1",        "{%r1, _}"};

/// Every head of the table, every modifier word that it names, and the words above.
const std::vector<std::string>& known_words() {
  static const std::vector<std::string> words = [] {
    std::vector<std::string> list(kOtherWords.begin(), kOtherWords.end());
    for (const auto& category : ptx::instruction_categories()) {
      for (const ptx::InstructionForm& form : category) {
        list.emplace_back(form.head);
        std::string word;
        for (char c : std::string(form.modifiers) + ' ') {
          if (std::strchr(" |=?@/", c) == nullptr) {
            word += c;
          } else if (!word.empty()) {
            list.push_back('.' + word.substr(word.find(':') + 1));  // behind "field:"
            word.clear();
          }
        }
      }
    }
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    return list;
  }();
  return words;
}

/// [first, end) of the pieces of `text` that `inside` holds for.
template <typename Inside>
std::vector<std::pair<size_t, size_t>> pieces(std::string_view text, Inside inside) {
  std::vector<std::pair<size_t, size_t>> found;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && inside(text[end])) ++end;
    if (end > at) found.emplace_back(at, end);
    at = end + 1;
  }
  return found;
}

size_t below(Random& random, size_t limit) { return random() % limit; }

void replace_word(std::string& text, Random& random) {
  const auto words = pieces(text, in_word);
  if (words.empty()) return;
  const auto [first, end] = words[below(random, words.size())];
  const auto [other, other_end] = words[below(random, words.size())];
  const std::vector<std::string>& known = known_words();
  std::string word =
      random() % 2 == 0 ? text.substr(other, other_end - other) : known[below(random, known.size())];
  // A modifier goes behind what is there, everything else in its place.
  const bool modifier = word.starts_with('.') && word.size() > 1 && random() % 4 != 0;
  text.replace(modifier ? end : first, modifier ? 0 : end - first, word);
}

void change_statements(std::string& text, Random& random) {
  const auto statements = pieces(text, [](char c) { return c != ';' && c != '\n'; });
  if (statements.empty()) return;
  const auto [first, end] = statements[below(random, statements.size())];
  const auto [other, other_end] = statements[below(random, statements.size())];
  const std::string one = text.substr(first, end - first), two = text.substr(other, other_end - other);
  switch (random() % 3) {
    case 0:
      text.insert(end, ";\n" + two);
      break;
    case 1:
      text.erase(first, end - first);
      break;
    default:
      text.replace(first, one.size(), two);
  }
}

}  // namespace

size_t mutate_ptx(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  Random random(seed);
  if (random() % 4 == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::string text(reinterpret_cast<const char*>(data), size);
  for (unsigned changes = 1 + random() % 3; changes > 0; --changes) {
    random() % 3 == 0 ? change_statements(text, random) : replace_word(text, random);
  }
  text.resize(std::min(text.size(), max_size));
  std::memcpy(data, text.data(), text.size());
  return text.size();
}

}  // namespace ptxwire::fuzz

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  return ptxwire::fuzz::mutate_ptx(data, size, max_size, seed);
}
