#include "ptx_frontend/syntax/lexer.hpp"

#include <array>
#include <cstring>

namespace ptxwire::ptx {
namespace {

enum CharacterClass : uint8_t { kBlank = 1, kDigit = 2, kLetter = 4, kHexLetter = 8, kNameStart = 16 };

constexpr std::array<uint8_t, 256> make_classes() {
  std::array<uint8_t, 256> classes{};
  for (char c : {' ', '\t', '\r', '\n', '\f', '\v'}) classes[static_cast<uint8_t>(c)] = kBlank;
  for (int c = '0'; c <= '9'; ++c) classes[c] = kDigit;
  for (int c = 'a'; c <= 'z'; ++c) classes[c] = kLetter | kNameStart;
  for (int c = 'A'; c <= 'Z'; ++c) classes[c] = kLetter | kNameStart;
  for (int c = 'a'; c <= 'f'; ++c) classes[c] |= kHexLetter;
  for (int c = 'A'; c <= 'F'; ++c) classes[c] |= kHexLetter;
  classes['_'] = classes['$'] = kLetter | kNameStart;
  classes['%'] = kNameStart;
  return classes;
}
constexpr auto kClasses = make_classes();

constexpr bool has_class(char c, uint8_t mask) { return (kClasses[static_cast<uint8_t>(c)] & mask) != 0; }

}  // namespace

bool is_name_character(char c) { return has_class(c, kDigit | kLetter); }

void Lexer::report(uint32_t begin, uint32_t end, std::string_view id, std::string message, std::string hint) {
  diagnostics_.add({Severity::error, id, {begin, end}, std::move(message), std::move(hint), {}});
}

void Lexer::skip_line() {
  while (position_ < text_.size() && text_[position_] != '\n') ++position_;
}

void Lexer::skip_comment() {
  const uint32_t begin = position_;
  const uint32_t begin_line = line_;
  position_ += 2;
  while (true) {
    if (position_ + 1 >= text_.size()) {
      position_ = static_cast<uint32_t>(text_.size());
      line_ = begin_line;
      cut_off_ = true;
      report(begin, begin + 2, "unterminated-comment", "comment is never closed, expected '*/'");
      return;
    }
    if (text_[position_] == '*' && text_[position_ + 1] == '/') break;
    if (text_[position_] == '\n') ++line_;
    ++position_;
  }
  position_ += 2;
}

/// `#line N` and `# N "file"` are line markers; anything else with '#' is a preprocessor directive that ran
/// nowhere.
void Lexer::skip_hash() {
  uint32_t word = position_ + 1;
  while (at(word) == ' ' || at(word) == '\t') ++word;
  if (!has_class(at(word), kDigit) && text_.substr(word, 4) != "line") {
    report(position_, position_ + 1, "preprocessor-directive",
           "preprocessor directive in PTX, only '#line' is accepted",
           "run the file through the preprocessor first");
  }
  skip_line();
}

void Lexer::skip_blank() {
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (c == '\n') {
      ++line_;
      ++position_;
    } else if (has_class(c, kBlank)) {
      ++position_;
    } else if (c == '/' && at(position_ + 1) == '/') {
      skip_line();
    } else if (c == '/' && at(position_ + 1) == '*') {
      skip_comment();
    } else if (c == '#') {
      skip_hash();
    } else {
      return;
    }
  }
}

char Lexer::peek_character() {
  skip_blank();
  return at(position_);
}

void Lexer::scan_word() {
  while (has_class(at(position_), kDigit | kLetter)) ++position_;
}

/// Numbers: the kind and the extent; values are read by the parser (number.hpp).
void Lexer::scan_number(Token& token) {
  token.kind = TokenKind::integer;
  const char second = static_cast<char>(at(position_ + 1) | 0x20);
  if (token.character == '0' && (second == 'x' || second == 'f' || second == 'd' || second == 'b')) {
    if (second == 'f' || second == 'd') token.kind = TokenKind::floating;
    position_ += 2;
    scan_word();
    return;
  }
  while (has_class(at(position_), kDigit)) ++position_;
  if (at(position_) == '.') {
    token.kind = TokenKind::floating;
    ++position_;
    while (has_class(at(position_), kDigit)) ++position_;
  }
  if ((at(position_) | 0x20) == 'e') {
    uint32_t exponent = position_ + 1;
    if (at(exponent) == '+' || at(exponent) == '-') ++exponent;
    if (has_class(at(exponent), kDigit)) {
      token.kind = TokenKind::floating;
      position_ = exponent;
      while (has_class(at(position_), kDigit)) ++position_;
    }
  }
  scan_word();  // the U suffix, or letters that the number reader refuses
}

void Lexer::scan_operator(Token& token) {
  const char second = at(position_ + 1);
  struct Pair {
    char first, second;
    TokenKind kind;
  };
  static constexpr Pair kPairs[] = {{'<', '<', TokenKind::shift_left},  {'>', '>', TokenKind::shift_right},
                                    {'<', '=', TokenKind::less_equal},  {'>', '=', TokenKind::greater_equal},
                                    {'=', '=', TokenKind::equal_equal}, {'!', '=', TokenKind::not_equal},
                                    {'&', '&', TokenKind::logical_and}, {'|', '|', TokenKind::logical_or}};
  for (const Pair& pair : kPairs) {
    if (token.character == pair.first && second == pair.second) {
      token.kind = pair.kind;
      position_ += 2;
      return;
    }
  }
  ++position_;
  token.kind = std::strchr("{}[]()<>,;:=+-*/%!~&^|?@", token.character) != nullptr ? TokenKind::punctuation
                                                                                   : TokenKind::unknown;
}

Token Lexer::next() {
  skip_blank();
  Token token;
  token.line = line_;
  token.range.begin = token.range.end = position_;
  if (position_ >= text_.size()) return token;
  const char c = token.character = text_[position_];
  const char following = at(position_ + 1);
  if (has_class(c, kNameStart) && (c != '%' || is_name_character(following))) {
    token.kind = TokenKind::identifier;
    ++position_;
    scan_word();
  } else if (has_class(c, kDigit)) {
    scan_number(token);
  } else if (c == '.' && has_class(following, kLetter | kDigit)) {
    // ".5" is a number, ".4d" (a tensor dimension) is not met here: opcodes are taken by extend_opcode.
    if (has_class(following, kDigit)) {
      scan_number(token);
    } else {
      token.kind = TokenKind::dot_word;
      ++position_;
      scan_word();
      while (at(position_) == ':' && at(position_ + 1) == ':') {
        position_ += 2;
        scan_word();
      }
    }
  } else if (c == '"') {
    token.kind = TokenKind::string;
    ++position_;
    while (position_ < text_.size() && text_[position_] != '"' && text_[position_] != '\n') ++position_;
    if (at(position_) == '"') {
      ++position_;
    } else {
      report(token.range.begin, position_, "unterminated-string",
             "string is not closed on its line, expected '\"'");
    }
  } else {
    scan_operator(token);
  }
  token.range.end = position_;
  return token;
}

std::string_view Lexer::extend_opcode(Token& token) {
  while (at(position_) == '.' && has_class(at(position_ + 1), kDigit | kLetter)) {
    ++position_;
    scan_word();
    while (at(position_) == ':' && at(position_ + 1) == ':') {
      position_ += 2;
      scan_word();
    }
  }
  // Blanks between the words of an opcode are legal and rare.
  const uint32_t end = position_;
  if (has_class(at(position_), kBlank)) {
    const uint32_t line = line_;
    skip_blank();
    if (at(position_) == '.' && has_class(at(position_ + 1), kDigit | kLetter)) return extend_opcode(token);
    position_ = end;
    line_ = line;
  }
  token.range.end = end;
  return spelling(token.range);
}

bool Lexer::skip_braces() {
  for (uint32_t depth = 1; depth != 0;) {
    const Token token = next();
    if (token.kind == TokenKind::end) return false;
    if (token.is('{')) ++depth;
    if (token.is('}')) --depth;
  }
  return true;
}

}  // namespace ptxwire::ptx
