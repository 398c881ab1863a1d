#include "tests/ptx_frontend/agreement/mutator.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "ptx_frontend/isa/instruction_form.hpp"
#include "ptx_frontend/isa/instruction_table.hpp"
#include "ptx_frontend/syntax/lexer.hpp"

namespace ptxwire::ptx::agreement {
namespace {

using Random = std::mt19937_64;

size_t below(Random& random, size_t bound) { return bound == 0 ? 0 : random() % bound; }

template <typename List>
const auto& pick(Random& random, const List& list) {
  return list[below(random, list.size())];
}

constexpr std::array<std::string_view, 24> kTypes = {
    ".b8",   ".b16",  ".b32",   ".b64",    ".b128", ".u8",    ".u16",    ".u32",
    ".u64",  ".s8",   ".s16",   ".s32",    ".s64",  ".f16",   ".f32",    ".f64",
    ".bf16", ".pred", ".f16x2", ".bf16x2", ".tf32", ".u16x2", ".e4m3x2", ".b1024"};

constexpr std::array<std::string_view, 16> kTargets = {
    "sm_50", "sm_60", "sm_70",  "sm_72",  "sm_75",   "sm_80",  "sm_86",   "sm_87",
    "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_103", "sm_120a", "sm_91"};
constexpr std::array<std::string_view, 32> kVersions = {
    "3.0", "3.2", "4.0", "4.1", "4.2", "4.3", "5.0", "6.0", "6.1", "6.2", "6.3",
    "6.4", "6.5", "7.0", "7.1", "7.2", "7.3", "7.4", "7.5", "7.6", "7.7", "7.8",
    "8.0", "8.1", "8.2", "8.3", "8.4", "8.5", "8.6", "8.7", "8.8", "9.0"};
constexpr std::array<std::string_view, 18> kOperands = {
    "0",      "-1",       "1", "31",          "32",         "255",    "65536", "1.5",     "0f3F800000",
    "%tid.x", "%clock64", "_", "0x100000000", "{%r1, %r2}", "[%rd1]", "%p1",   "WARP_SZ", "%laneid"};

/// Every modifier word of the table that is no type.
const std::vector<std::string>& known_modifiers() {
  static const std::vector<std::string> words = [] {
    std::vector<std::string> list;
    for (const std::string_view head : InstructionTable::get().heads()) {
      for (const CompiledForm& form : InstructionTable::get().forms(head)) {
        for (const ModifierGroup& group : form.groups) {
          for (const ModifierWord& word : group.words) list.push_back('.' + std::string(word.word));
        }
      }
    }
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    std::erase_if(list, [](const std::string& word) { return word.find('*') != std::string::npos; });
    return list;
  }();
  return words;
}

struct Piece {
  size_t begin = 0, end = 0;
  uint32_t line = 1;
  TokenKind kind = TokenKind::end;
};

/// The tokens behind the header, and where the statements of functions are.
class Text {
 public:
  explicit Text(std::string_view text) : text_(text) {
    Diagnostics ignored;
    Lexer lexer(text, ignored);
    for (Token token = lexer.next(); token.kind != TokenKind::end; token = lexer.next())
      pieces_.push_back({token.range.begin, token.range.end, token.line, token.kind});
    size_t at = 0;
    while (at < pieces_.size() && spelling(at) != ".address_size") ++at;
    first_ = at + 2 < pieces_.size() ? at + 2 : 0;
    unsigned depth = 0;
    for (size_t i = first_; i < pieces_.size(); ++i) {
      if (spelling(i) == "{") ++depth;
      if (spelling(i) == "}" && depth != 0) --depth;
      if (depth == 0 || i + 1 >= pieces_.size()) continue;
      const std::string_view before = spelling(i);
      const bool begins = before == ";" || before == "{" || before == ":";
      if (begins && pieces_[i + 1].kind != TokenKind::punctuation) starts_.push_back(i + 1);
    }
  }
  [[nodiscard]] std::string_view spelling(size_t i) const {
    return text_.substr(pieces_[i].begin, pieces_[i].end - pieces_[i].begin);
  }
  [[nodiscard]] const Piece& at(size_t i) const { return pieces_[i]; }
  [[nodiscard]] size_t size() const { return pieces_.size(); }
  [[nodiscard]] size_t first() const { return first_; }
  [[nodiscard]] const std::vector<size_t>& starts() const { return starts_; }
  /// The piece with the ';' of the statement that begins at piece `i`.
  [[nodiscard]] size_t end_of(size_t i) const {
    while (i + 1 < pieces_.size() && spelling(i) != ";") ++i;
    return i;
  }
  /// Pieces for which `wanted` holds.
  template <typename Wanted>
  [[nodiscard]] std::vector<size_t> all(Wanted wanted) const {
    std::vector<size_t> list;
    for (size_t i = first_; i < pieces_.size(); ++i) {
      if (wanted(i)) list.push_back(i);
    }
    return list;
  }
  [[nodiscard]] std::string replaced(size_t from, size_t to, std::string_view by) const {
    return std::string(text_.substr(0, from)) + std::string(by) + std::string(text_.substr(to));
  }
  [[nodiscard]] std::string_view text() const { return text_; }

 private:
  std::string_view text_;
  std::vector<Piece> pieces_;
  std::vector<size_t> starts_;
  size_t first_ = 0;
};

/// The operands of a statement as [begin, end) of the text, split at commas outside brackets.
std::vector<std::pair<size_t, size_t>> operands(const Text& text, size_t start) {
  std::vector<std::pair<size_t, size_t>> list;
  size_t i = start;
  while (i + 1 < text.size() && text.at(i + 1).kind == TokenKind::dot_word) ++i;
  ++i;
  const size_t end = text.end_of(start);
  int depth = 0;
  size_t begin = i;
  for (; i <= end && i < text.size(); ++i) {
    const std::string_view word = text.spelling(i);
    if (word == "[" || word == "{" || word == "(") ++depth;
    if (word == "]" || word == "}" || word == ")") --depth;
    if ((word == "," && depth == 0) || i == end) {
      if (i > begin) list.emplace_back(text.at(begin).begin, text.at(i - 1).end);
      begin = i + 1;
    }
  }
  return list;
}

std::string replace_operand(const Text& text, size_t start, Random& random, uint32_t& line) {
  const auto list = operands(text, start);
  if (list.empty()) return std::string(text.text());
  const auto [from, to] = pick(random, list);
  line = text.at(start).line;
  if (random() % 3 == 0) return text.replaced(from, to, pick(random, kOperands));
  const auto others = operands(text, pick(random, text.starts()));
  if (others.empty()) return std::string(text.text());
  const auto [a, b] = pick(random, others);
  return text.replaced(from, to, text.text().substr(a, b - a));
}

std::string change_operand_count(const Text& text, size_t start, bool add, Random& random, uint32_t& line) {
  const auto list = operands(text, start);
  if (list.empty()) return std::string(text.text());
  line = text.at(start).line;
  const size_t k = below(random, list.size());
  if (add) {
    const auto [from, to] = list[k];
    return text.replaced(to, to, ", " + std::string(text.text().substr(from, to - from)));
  }
  if (k + 1 < list.size()) return text.replaced(list[k].first, list[k + 1].first, "");
  if (k > 0) return text.replaced(list[k - 1].second, list[k].second, "");
  return text.replaced(list[k].first, list[k].second, "");
}

std::string replace_header(std::string_view text, std::string_view directive, std::string_view value) {
  const size_t at = text.find(directive);
  if (at == std::string_view::npos) return std::string(text);
  const size_t begin = text.find_first_not_of(" \t", at + directive.size());
  const size_t end = text.find_first_of(" \t\r\n,", begin);
  return std::string(text.substr(0, begin)) + std::string(value) + std::string(text.substr(end));
}

bool is_modifier(const Text& text, size_t i) {
  return text.at(i).kind == TokenKind::dot_word && text.at(i - 1).end == text.at(i).begin;
}

bool is_type(std::string_view word) { return std::find(kTypes.begin(), kTypes.end(), word) != kTypes.end(); }

}  // namespace

std::string_view name(Mutation mutation) {
  static constexpr std::array<std::string_view, 16> kNames = {
      "swap tokens",     "delete token",    "double token",     "delete modifier",
      "double modifier", "change modifier", "change type",      "change operand",
      "delete operand",  "add operand",     "undefined name",   "change number",
      "change target",   "older version",   "delete statement", "double statement"};
  return kNames[static_cast<size_t>(mutation)];
}

Mutant mutate(std::string_view module, uint64_t seed) {
  Random random(seed);
  const Text text(module);
  Mutant mutant;
  mutant.mutation = static_cast<Mutation>(random() % static_cast<size_t>(Mutation::count));
  mutant.text = module;
  if (text.starts().empty()) return mutant;
  const auto at_piece = [&](const std::vector<size_t>& list, auto change) {
    if (list.empty()) return;
    const size_t i = pick(random, list);
    mutant.line = text.at(i).line;
    mutant.text = change(i);
  };
  const auto modifiers = [&] { return text.all([&](size_t i) { return is_modifier(text, i); }); };
  const size_t start = pick(random, text.starts());
  const size_t token = text.first() + below(random, text.size() - text.first() - 1);
  switch (mutant.mutation) {
    case Mutation::swap_tokens:
      mutant.line = text.at(token).line;
      mutant.text = text.replaced(
          text.at(token).begin, text.at(token + 1).end,
          std::string(text.spelling(token + 1)) +
              std::string(module.substr(text.at(token).end, text.at(token + 1).begin - text.at(token).end)) +
              std::string(text.spelling(token)));
      break;
    case Mutation::delete_token:
      mutant.line = text.at(token).line;
      mutant.text = text.replaced(text.at(token).begin, text.at(token).end, "");
      break;
    case Mutation::double_token:
      mutant.line = text.at(token).line;
      mutant.text = text.replaced(
          text.at(token).end, text.at(token).end,
          (text.at(token).kind == TokenKind::dot_word ? "" : " ") + std::string(text.spelling(token)));
      break;
    case Mutation::delete_modifier:
      at_piece(modifiers(), [&](size_t i) { return text.replaced(text.at(i).begin, text.at(i).end, ""); });
      break;
    case Mutation::double_modifier:
      at_piece(modifiers(),
               [&](size_t i) { return text.replaced(text.at(i).end, text.at(i).end, text.spelling(i)); });
      break;
    case Mutation::change_modifier:
      at_piece(modifiers(), [&](size_t i) {
        const auto all = modifiers();
        const std::string by = random() % 2 == 0 ? std::string(text.spelling(pick(random, all)))
                                                 : pick(random, known_modifiers());
        return text.replaced(text.at(i).begin, text.at(i).end, by);
      });
      break;
    case Mutation::change_type:
      at_piece(text.all([&](size_t i) { return is_type(text.spelling(i)); }), [&](size_t i) {
        return text.replaced(text.at(i).begin, text.at(i).end, pick(random, kTypes));
      });
      break;
    case Mutation::change_operand:
      mutant.text = replace_operand(text, start, random, mutant.line);
      break;
    case Mutation::delete_operand:
    case Mutation::add_operand:
      mutant.text =
          change_operand_count(text, start, mutant.mutation == Mutation::add_operand, random, mutant.line);
      break;
    case Mutation::undefined_name:
      at_piece(text.all([&](size_t i) {
        return text.at(i).kind == TokenKind::identifier &&
               (text.spelling(i)[0] == '%' || text.spelling(i)[0] == '$');
      }),
               [&](size_t i) { return text.replaced(text.at(i).end, text.at(i).end, "z"); });
      break;
    case Mutation::change_number:
      at_piece(text.all([&](size_t i) { return text.at(i).kind == TokenKind::integer; }), [&](size_t i) {
        static constexpr std::array<std::string_view, 10> kNumbers = {
            "0", "1", "2", "3", "7", "16", "100", "65536", "4294967296", "1.0"};
        return text.replaced(text.at(i).begin, text.at(i).end, pick(random, kNumbers));
      });
      break;
    case Mutation::change_target:
      mutant.text = replace_header(module, ".target", pick(random, kTargets));
      break;
    case Mutation::older_version:
      mutant.text = replace_header(module, ".version", pick(random, kVersions));
      break;
    case Mutation::delete_statement:
      mutant.line = text.at(start).line;
      mutant.text = text.replaced(text.at(start).begin, text.at(text.end_of(start)).end, "");
      break;
    case Mutation::double_statement: {
      const size_t end = text.at(text.end_of(start)).end;
      mutant.line = text.at(start).line;
      mutant.text = text.replaced(end, end, module.substr(text.at(start).begin, end - text.at(start).begin));
      break;
    }
    case Mutation::count:
      break;
  }
  return mutant;
}

}  // namespace ptxwire::ptx::agreement
