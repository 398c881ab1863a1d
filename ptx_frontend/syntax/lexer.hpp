// Text -> tokens, on demand and without allocation: a token is a kind and a byte range.
#pragma once

#include <cstdint>
#include <string_view>

#include "ptx_frontend/syntax/ast.hpp"
#include "ptx_frontend/syntax/diagnostics.hpp"

namespace ptxwire::ptx {

enum class TokenKind : uint8_t {
  end,
  identifier,  ///< name, register (%r1), `_`
  dot_word,    ///< .reg, .global, .shared::cta, .L2::256B: the dot and the word
  integer,     ///< 12, 0x1F, 0b1, 017, each with an optional U
  floating,    ///< 1.5, 1e3, 0f3F800000, 0d...
  string,      ///< "..." with its quotes
  shift_left,
  shift_right,
  less_equal,
  greater_equal,
  equal_equal,
  not_equal,
  logical_and,
  logical_or,
  punctuation,  ///< one character: Token::character
  unknown,      ///< a byte that starts no token
};

struct Token {
  TokenKind kind = TokenKind::end;
  char character = 0;  ///< first character; the whole token for punctuation
  uint32_t line = 1;   ///< 1-based
  SourceRange range;
  [[nodiscard]] bool is(char c) const { return kind == TokenKind::punctuation && character == c; }
};

class Lexer {
 public:
  Lexer(std::string_view text, Diagnostics& diagnostics) : text_(text), diagnostics_(diagnostics) {}

  /// The next token; white space, comments and `#line` directives are skipped.
  Token next();

  /// The first character after white space at the current position, without moving (0 at the end).
  [[nodiscard]] char peek_character();

  /// Extends a token from its end over every directly following `.word`; for opcodes. Returns the whole text.
  std::string_view extend_opcode(Token& token);

  /// Skips to just after the '}' that closes the '{' which was the last token; false at the end of the text.
  bool skip_braces();

  /// Skips the rest of the line (for `@@dwarf` lines).
  void skip_line();

  /// True once an unterminated comment has swallowed the rest of the text (reported).
  [[nodiscard]] bool cut_off() const { return cut_off_; }

  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] std::string_view spelling(SourceRange range) const {
    return text_.substr(range.begin, range.end - range.begin);
  }

 private:
  void skip_blank();
  void skip_comment();
  void skip_hash();
  [[nodiscard]] char at(uint32_t position) const { return position < text_.size() ? text_[position] : '\0'; }
  void scan_number(Token& token);
  void scan_word();
  void scan_operator(Token& token);
  void report(uint32_t begin, uint32_t end, std::string_view id, std::string message, std::string hint = {});

  std::string_view text_;
  Diagnostics& diagnostics_;
  uint32_t position_ = 0;
  uint32_t line_ = 1;
  bool cut_off_ = false;
};

/// Letters, digits, '_' and '$': what may follow the first character of a name.
bool is_name_character(char c);

}  // namespace ptxwire::ptx
