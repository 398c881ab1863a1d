// Diagnostics as values: the front end never prints.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ptx_frontend/syntax/ast.hpp"

namespace ptxwire::ptx {

enum class Severity : uint8_t { note, warning, error };

struct Note {
  SourceRange range;
  std::string message;
};

struct Diagnostic {
  Severity severity = Severity::error;
  std::string_view id;  ///< stable kebab-case identifier, e.g. "unknown-modifier"
  SourceRange range;    ///< caret range
  std::string message;  ///< what is wrong and what was expected
  std::string hint;     ///< may be empty
  std::vector<Note> notes;
};

/// Collects diagnostics for one module in source order of discovery.
class Diagnostics {
 public:
  void add(Diagnostic diagnostic) {
    shorten(diagnostic.message);
    shorten(diagnostic.hint);
    if (diagnostic.severity == Severity::error) ++errors_;
    list_.push_back(std::move(diagnostic));
  }
  [[nodiscard]] bool has_errors() const { return errors_ != 0; }
  [[nodiscard]] const std::vector<Diagnostic>& list() const { return list_; }

 private:
  /// Messages quote names, and a name may have any length.
  static void shorten(std::string& text) {
    constexpr size_t kLongest = 400;
    if (text.size() > kLongest) text.replace(kLongest / 2, text.size() - kLongest, "...");
  }

  std::vector<Diagnostic> list_;
  uint32_t errors_ = 0;
};

/// 1-based line and column of a byte offset.
struct LineColumn {
  uint32_t line = 1;
  uint32_t column = 1;
};
LineColumn line_column(std::string_view text, uint32_t offset);

/// Where the lines of a text begin: for many places of one text. Refers to the text.
class LineTable {
 public:
  explicit LineTable(std::string_view text);
  [[nodiscard]] LineColumn find(uint32_t offset) const;
  /// The line (1-based) without its end.
  [[nodiscard]] std::string_view line(uint32_t number) const;

 private:
  std::string_view text_;
  std::vector<uint32_t> begins_;
};

/// The diagnostic in the manner of clang: "path:line:col: error: message", the source line, a caret range,
/// notes, hint.
std::string render(const Diagnostic& diagnostic, std::string_view path, const LineTable& lines, bool colour);
std::string render(const Diagnostic& diagnostic, std::string_view path, std::string_view text, bool colour);

}  // namespace ptxwire::ptx
