#include "sim/report/table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <sstream>

namespace ptxwire::sim {
namespace {

std::string scaled(double value, double step, const std::array<const char*, 5>& units) {
  size_t unit = 0;
  while (std::abs(value) >= step && unit + 1 < units.size()) {
    value /= step;
    ++unit;
  }
  return fixed(value, unit == 0 ? 0 : 1) + units[unit];
}

}  // namespace

void Table::add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::vector<size_t> Table::widths() const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t width = columns_[i].header.size();
    for (const std::vector<std::string>& row : rows_) width = std::max(width, row[i].size());
    widths.push_back(width);
  }
  return widths;
}

std::string Table::line(const std::vector<std::string>& cells, const std::vector<size_t>& widths) const {
  std::string line;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const std::string padding(widths[i] - cells[i].size(), ' ');
    if (i != 0) line += "  ";
    line += columns_[i].align == Align::right ? padding + cells[i] : cells[i] + padding;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::vector<std::string> Table::header() const {
  std::vector<std::string> cells;
  for (const Column& column : columns_) cells.push_back(column.header);
  return cells;
}

std::string Table::text(size_t indent) const {
  const std::vector<size_t> column_widths = widths();
  const std::string margin(indent, ' ');
  std::string text = margin + line(header(), column_widths) + '\n';
  for (const std::vector<std::string>& row : rows_) {
    const std::string cells = line(row, column_widths);
    text += (cells.empty() ? "" : margin + cells) + '\n';
  }
  return text;
}

std::string Table::text_wrapped(size_t indent) const {
  const std::vector<size_t> column_widths = widths();
  const std::string margin(indent, ' ');
  size_t last_column = indent;
  for (size_t i = 0; i + 1 < columns_.size(); ++i) last_column += column_widths[i] + 2;
  std::string text = margin + line(header(), column_widths) + '\n';
  for (const std::vector<std::string>& row : rows_) {
    const std::string whole = margin + line(row, column_widths);
    const size_t start = std::min(last_column, whole.size());
    text += whole.substr(0, start) + wrapped(whole.substr(start), last_column, last_column);
  }
  return text;
}

std::string fixed(double value, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

std::string signed_percent(double percent) { return (percent < 0 ? "" : "+") + fixed(percent, 1) + " %"; }

std::string share_percent(double share) { return fixed(100 * share, 0) + " %"; }

std::string duration(double seconds) {
  if (seconds < 0.9995) return fixed(seconds * 1e3, 0) + " ms";
  if (seconds < 10) return fixed(seconds, 1) + " s";
  const auto whole = static_cast<long>(std::lround(seconds));
  if (whole < 60) return std::to_string(whole) + " s";
  if (whole < 3600) return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
  return std::to_string(whole / 3600) + " h " + std::to_string(whole % 3600 / 60) + " min";
}

std::string bytes(double count) { return scaled(count, 1024, {" B", " KiB", " MiB", " GiB", " TiB"}); }

std::string count(double value) { return scaled(value, 1000, {"", " k", " M", " G", " T"}); }

std::string wrapped(const std::string& text, size_t indent, size_t column) {
  std::istringstream words(text);
  std::string result, word;
  size_t used = column;  // columns taken on the line being filled
  bool line_has_words = false;
  while (words >> word) {
    if (line_has_words && used + 1 + word.size() > kReportWidth) {
      result += '\n' + std::string(indent, ' ');
      used = indent;
      line_has_words = false;
    }
    if (line_has_words) {
      result += ' ';
      ++used;
    }
    result += word;
    used += word.size();
    line_has_words = true;
  }
  return result + '\n';
}

std::string named_line(const std::string& name, const std::string& text) {
  constexpr size_t kTextColumn = 14;
  std::string start = "  " + name;
  start.resize(kTextColumn, ' ');
  return start + wrapped(text, kTextColumn, kTextColumn);
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace ptxwire::sim
