// Diagnostics as text, in the manner of clang:
//
//   kernel.ptx:12:9: error: unknown instruction 'adx.s32'
//           adx.s32 %r1, %r2, %r3;
//           ^~~~~~~
//   hint: did you mean 'add'?
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "ptx_frontend/frontend.hpp"
#include "ptx_frontend/syntax/diagnostics.hpp"

namespace ptxwire::ptx {
namespace {

constexpr size_t kMaxLineShown = 160;

struct Palette {
  std::string_view bold, severity, caret, reset;
};

Palette palette(Severity severity, bool colour) {
  if (!colour) return {};
  const std::string_view tint = severity == Severity::error     ? "\033[1;31m"
                                : severity == Severity::warning ? "\033[1;35m"
                                                                : "\033[1;36m";
  return {"\033[1m", tint, "\033[1;32m", "\033[0m"};
}

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::note:
      return "note";
    case Severity::warning:
      return "warning";
    case Severity::error:
      break;
  }
  return "error";
}

/// The source line of `range` and a caret line under it; long lines are cut around the caret.
void append_snippet(std::string& out, SourceRange range, LineColumn place, std::string_view line,
                    const Palette& colours) {
  const size_t begin = place.column - 1;
  size_t from = 0, to = line.size();
  if (to > kMaxLineShown) {
    from = begin > kMaxLineShown / 2 ? begin - kMaxLineShown / 2 : 0;
    to = std::min(to, from + kMaxLineShown);
  }
  std::string shown(line.substr(from, to - from));
  std::string carets;
  for (size_t i = from; i < begin; ++i) carets += i < line.size() && line[i] == '\t' ? '\t' : ' ';
  const size_t length = range.end > range.begin ? range.end - range.begin : 1;
  const size_t end = std::clamp(begin + length, begin + 1, std::max(begin + 1, to));
  for (char& c : shown) {
    if (c != '\t' && (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e)) c = '?';
  }
  out += shown;
  out += '\n';
  out += carets;
  out += colours.caret;
  out += '^';
  out.append(end - begin - 1, '~');
  out += colours.reset;
  out += '\n';
}

void append_message(std::string& out, Severity severity, SourceRange range, std::string_view message,
                    std::string_view path, const LineTable& lines, bool colour) {
  const Palette colours = palette(severity, colour);
  const LineColumn place = lines.find(range.begin);
  out += colours.bold;
  out += path;
  out += ':' + std::to_string(place.line) + ':' + std::to_string(place.column) + ": ";
  out += colours.severity;
  out += severity_name(severity);
  out += ": ";
  out += colours.reset;
  out += colours.bold;
  out += message;
  out += colours.reset;
  out += '\n';
  append_snippet(out, range, place, lines.line(place.line), colours);
}

}  // namespace

LineColumn line_column(std::string_view text, uint32_t offset) {
  const std::string_view before = text.substr(0, std::min<size_t>(offset, text.size()));
  LineColumn place;
  place.line += static_cast<uint32_t>(std::count(before.begin(), before.end(), '\n'));
  const size_t newline = before.rfind('\n');
  place.column +=
      static_cast<uint32_t>(newline == std::string_view::npos ? before.size() : before.size() - newline - 1);
  return place;
}

LineTable::LineTable(std::string_view text) : text_(text), begins_{0} {
  for (size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1))
    begins_.push_back(static_cast<uint32_t>(at + 1));
}

LineColumn LineTable::find(uint32_t offset) const {
  offset = static_cast<uint32_t>(std::min<size_t>(offset, text_.size()));
  const auto next = std::upper_bound(begins_.begin(), begins_.end(), offset);
  return {static_cast<uint32_t>(next - begins_.begin()), offset - *(next - 1) + 1};
}

std::string_view LineTable::line(uint32_t number) const {
  const size_t begin = begins_[number - 1];
  size_t end = number < begins_.size() ? begins_[number] - 1 : text_.size();
  if (end > begin && text_[end - 1] == '\r') --end;
  return text_.substr(begin, end - begin);
}

std::string render(const Diagnostic& diagnostic, std::string_view path, std::string_view text, bool colour) {
  return render(diagnostic, path, LineTable(text), colour);
}

std::string render(const Diagnostic& diagnostic, std::string_view path, const LineTable& lines, bool colour) {
  std::string out;
  append_message(out, diagnostic.severity, diagnostic.range, diagnostic.message, path, lines, colour);
  for (const Note& note : diagnostic.notes) {
    append_message(out, Severity::note, note.range, note.message, path, lines, colour);
  }
  if (!diagnostic.hint.empty()) out += "hint: " + diagnostic.hint + '\n';
  return out;
}

Expected<std::shared_ptr<const std::string>> read_text_file(const std::string& path) {
  constexpr uint64_t kMaxBytes = uint64_t{1} << 30;
  const auto refuse = [&](std::string message, std::string hint = {}) {
    return Error{std::move(message), path, 0, 0, std::move(hint)};
  };
  std::error_code code;
  const auto status = std::filesystem::status(path, code);
  if (!std::filesystem::exists(status)) return refuse("file does not exist, expected a PTX text file");
  if (std::filesystem::is_directory(status)) return refuse("is a directory, expected a PTX text file");
  std::ifstream file(path, std::ios::binary);
  if (!file) return refuse("file cannot be opened for reading");
  auto text = std::make_shared<std::string>();
  if (std::filesystem::is_regular_file(status)) {
    const uint64_t bytes = std::filesystem::file_size(path, code);
    if (!code && bytes > kMaxBytes) return refuse("file is larger than 1 GiB");
    if (!code) text->reserve(bytes);
  }
  char buffer[1 << 16];
  while (file.read(buffer, sizeof buffer) || file.gcount() > 0) {
    text->append(buffer, static_cast<size_t>(file.gcount()));
    if (text->size() > kMaxBytes) return refuse("file is larger than 1 GiB");
  }
  if (file.bad()) return refuse("file could not be read to its end");
  return std::shared_ptr<const std::string>(std::move(text));
}

}  // namespace ptxwire::ptx
