#include "sim/report/lint.hpp"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "ptx_frontend/frontend.hpp"
#include "sim/study/outcome.hpp"

namespace ptxwire::sim {
namespace {

using nlohmann::json;

/// Why `text` cannot be PTX at all, or nothing. PTX is ASCII text (PTX ISA 4.1); other bytes may stand in
/// comments.
std::optional<std::string> not_text(const std::string& text) {
  const auto blank = [](unsigned char c) { return std::isspace(c) != 0; };
  if (std::all_of(text.begin(), text.end(), blank)) return "the file is empty, expected PTX text";
  const auto control = [&](unsigned char c) { return c < 0x20 && !blank(c); };
  if (std::any_of(text.begin(), text.end(), control)) return "the file is binary, expected PTX text";
  return std::nullopt;
}

std::string_view severity_name(ptx::Severity severity) {
  switch (severity) {
    case ptx::Severity::note:
      return "note";
    case ptx::Severity::warning:
      return "warning";
    case ptx::Severity::error:
      return "error";
  }
  return "error";
}

json place(const ptx::LineTable& lines, ptx::SourceRange range) {
  const ptx::LineColumn begin = lines.find(range.begin);
  const ptx::LineColumn end = lines.find(range.end);
  return {{"line", begin.line}, {"column", begin.column}, {"end_line", end.line}, {"end_column", end.column}};
}

json diagnostic_json(const ptx::LineTable& lines, const ptx::Diagnostic& diagnostic) {
  json entry = place(lines, diagnostic.range);
  entry["severity"] = severity_name(diagnostic.severity);
  entry["message"] = diagnostic.message;
  entry["id"] = std::string(diagnostic.id);
  if (!diagnostic.hint.empty()) entry["hint"] = diagnostic.hint;
  for (const ptx::Note& note : diagnostic.notes) {
    json item = place(lines, note.range);
    item["message"] = note.message;
    entry["notes"].push_back(std::move(item));
  }
  return entry;
}

std::string counted(size_t count, std::string_view noun) {
  return std::to_string(count) + ' ' + std::string(noun) + (count == 1 ? "" : "s");
}

}  // namespace

LintedFile lint_file(const std::string& path) {
  LintedFile file;
  file.path = path;
  Expected<std::shared_ptr<const std::string>> text = ptx::read_text_file(path);
  if (!text) {
    file.unreadable = text.error();
    return file;
  }
  if (const std::optional<std::string> reason = not_text(**text)) {
    file.unreadable = Error{.message = *reason, .path = path};
    return file;
  }
  file.text = *text;
  ptx::Module module = ptx::parse(file.text, path, file.diagnostics);
  // A module that did not parse has holes; checking it would only report the same mistakes again.
  if (!file.diagnostics.has_errors()) ptx::check(module, file.diagnostics);
  return file;
}

std::string lint_text(const std::vector<LintedFile>& files, bool colour) {
  std::string text;
  size_t errors = 0, warnings = 0;
  for (const LintedFile& file : files) {
    if (file.unreadable) {
      text += file.unreadable->to_string() + '\n';
      ++errors;
      continue;
    }
    const ptx::LineTable lines(*file.text);
    for (const ptx::Diagnostic& diagnostic : file.diagnostics.list()) {
      text += ptx::render(diagnostic, file.path, lines, colour);
      if (!text.ends_with('\n')) text += '\n';
      errors += diagnostic.severity == ptx::Severity::error ? 1 : 0;
      warnings += diagnostic.severity == ptx::Severity::warning ? 1 : 0;
    }
  }
  const std::string in_files = " in " + counted(files.size(), "file") + '\n';
  if (errors + warnings == 0) return text + "clean: no diagnostics" + in_files;
  return text + counted(errors, "error") + ", " + counted(warnings, "warning") + in_files;
}

std::string lint_json(const std::vector<LintedFile>& files) {
  json document;
  document["files"] = json::array();
  for (const LintedFile& file : files) {
    json entry = {
        {"path", file.path}, {"readable", !file.unreadable.has_value()}, {"diagnostics", json::array()}};
    if (file.unreadable) {
      entry["diagnostics"].push_back({{"severity", "error"},
                                      {"line", 0},
                                      {"column", 0},
                                      {"message", file.unreadable->message},
                                      {"id", "unreadable-file"}});
    } else {
      const ptx::LineTable lines(*file.text);
      for (const ptx::Diagnostic& diagnostic : file.diagnostics.list()) {
        entry["diagnostics"].push_back(diagnostic_json(lines, diagnostic));
      }
    }
    document["files"].push_back(std::move(entry));
  }
  return json_text(document, JsonLayout::indented);
}

int lint_exit_code(const std::vector<LintedFile>& files) {
  int code = 0;
  for (const LintedFile& file : files) {
    if (file.unreadable) return 2;
    if (file.diagnostics.has_errors()) code = 1;
  }
  return code;
}

}  // namespace ptxwire::sim
