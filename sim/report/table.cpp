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

std::string Table::text(size_t indent) const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t width = columns_[i].header.size();
    for (const std::vector<std::string>& row : rows_) width = std::max(width, row[i].size());
    widths.push_back(width);
  }
  std::string text;
  const auto add_line = [&](auto cell_of) {
    std::string line(indent, ' ');
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::string& cell = cell_of(i);
      const std::string padding(widths[i] - cell.size(), ' ');
      if (i != 0) line += "  ";
      line += columns_[i].align == Align::right ? padding + cell : cell + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  };
  add_line([&](size_t i) -> const std::string& { return columns_[i].header; });
  for (const std::vector<std::string>& row : rows_) {
    add_line([&](size_t i) -> const std::string& { return row[i]; });
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

std::string wrapped(const std::string& text, size_t indent, size_t width) {
  std::istringstream words(text);
  std::string result, line, word;
  while (words >> word) {
    const bool first = result.empty() && line.empty();
    const size_t room = width - (result.empty() ? 0 : indent);
    if (!first && line.size() + 1 + word.size() > room) {
      result += (result.empty() ? "" : std::string(indent, ' ')) + line + '\n';
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return result + (result.empty() ? "" : std::string(indent, ' ')) + line + '\n';
}

}  // namespace ptxwire::sim
