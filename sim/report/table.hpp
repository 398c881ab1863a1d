// Text tables for a terminal.
#pragma once

#include <string>
#include <vector>

namespace ptxwire::sim {

/// Printed reports fit this many columns.
inline constexpr size_t kReportWidth = 100;

enum class Align : unsigned char { left, right };

/// Rows of cells under a header; every column as wide as its widest cell, two spaces between columns.
class Table {
 public:
  struct Column {
    std::string header;
    Align align = Align::left;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// One cell per column; missing cells are empty.
  void add(std::vector<std::string> cells);
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  /// Lines that end in a newline and carry no trailing blanks.
  [[nodiscard]] std::string text(size_t indent = 0) const;
  /// The same with the last column broken at blanks where a line would be longer than kReportWidth.
  [[nodiscard]] std::string text_wrapped(size_t indent = 0) const;

 private:
  [[nodiscard]] std::vector<std::string> header() const;
  [[nodiscard]] std::vector<size_t> widths() const;
  /// One line; the last cell is padded only if aligned right.
  [[nodiscard]] std::string line(const std::vector<std::string>& cells,
                                 const std::vector<size_t>& widths) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// `value` with a fixed number of digits after the point.
std::string fixed(double value, int digits);
/// "+2.5 %", "-13.0 %".
std::string signed_percent(double percent);
/// "37 %" of a share of 0.37.
std::string share_percent(double share);
/// "850 ms", "41 s", "3 min 20 s", "2 h 5 min": a duration as people say it.
std::string duration(double seconds);
/// "3.1 GiB", "512 KiB".
std::string bytes(double count);
/// "12.3 M", "4.5 G", "870": a count as people say it.
std::string count(double value);
/// Breaks text at blanks into lines that end at kReportWidth. The first line starts at `column`, where the
/// caller has written that much already; the others are indented by `indent`. Ends in a newline.
std::string wrapped(const std::string& text, size_t indent, size_t column = 0);

/// "  name        text": a name and the text that stands for it, wrapped beside it.
std::string named_line(const std::string& name, const std::string& text);
/// The words with one blank between them.
std::string joined(const std::vector<std::string>& words);

}  // namespace ptxwire::sim
