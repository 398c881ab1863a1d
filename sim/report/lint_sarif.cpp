// Diagnostics as SARIF 2.1.0 (OASIS standard), one run with one result per diagnostic.
#include <nlohmann/json.hpp>
#include <set>

#include "sim/report/lint.hpp"
#include "sim/study/outcome.hpp"

namespace ptxwire::sim {
namespace {

using nlohmann::json;

std::string_view level(ptx::Severity severity) {
  if (severity == ptx::Severity::note) return "note";
  return severity == ptx::Severity::warning ? "warning" : "error";
}

/// A path as a reference: what a URI cannot hold is written in hexadecimal.
std::string uri(const std::string& path) {
  constexpr std::string_view kPlain = "-._~/";
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string text;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool letter =
        (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z');
    if (letter || kPlain.find(c) != std::string_view::npos) {
      text += c;
    } else {
      text += '%';
      text += kDigits[byte >> 4U];
      text += kDigits[byte & 15U];
    }
  }
  return text;
}

json location(const std::string& path, const ptx::LineTable& lines, ptx::SourceRange range) {
  const ptx::LineColumn begin = lines.find(range.begin), end = lines.find(range.end);
  return {{"physicalLocation",
           {{"artifactLocation", {{"uri", uri(path)}}},
            {"region",
             {{"startLine", begin.line},
              {"startColumn", begin.column},
              {"endLine", end.line},
              {"endColumn", end.column}}}}}};
}

json result(const std::string& path, const ptx::LineTable& lines, const ptx::Diagnostic& diagnostic) {
  std::string text = diagnostic.message;
  if (!diagnostic.hint.empty()) text += " (" + diagnostic.hint + ')';
  json entry = {{"ruleId", std::string(diagnostic.id)},
                {"level", level(diagnostic.severity)},
                {"message", {{"text", text}}},
                {"locations", {location(path, lines, diagnostic.range)}}};
  for (const ptx::Note& note : diagnostic.notes) {
    json related = location(path, lines, note.range);
    related["message"] = {{"text", note.message}};
    entry["relatedLocations"].push_back(std::move(related));
  }
  return entry;
}

}  // namespace

std::string lint_sarif(const std::vector<LintedFile>& files) {
  json results = json::array();
  std::set<std::string> ids;
  for (const LintedFile& file : files) {
    if (file.unreadable) {
      ids.insert("unreadable-file");
      results.push_back(
          {{"ruleId", "unreadable-file"},
           {"level", "error"},
           {"message", {{"text", file.unreadable->message}}},
           {"locations", {{{"physicalLocation", {{"artifactLocation", {{"uri", uri(file.path)}}}}}}}}});
      continue;
    }
    const ptx::LineTable lines(*file.text);
    for (const ptx::Diagnostic& diagnostic : file.diagnostics.list()) {
      ids.insert(std::string(diagnostic.id));
      results.push_back(result(file.path, lines, diagnostic));
    }
  }
  json rules = json::array();
  for (const std::string& id : ids) rules.push_back({{"id", id}});
  const json document = {
      {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
      {"version", "2.1.0"},
      {"runs", {{{"tool", {{"driver", {{"name", "ptxwire"}, {"rules", rules}}}}}, {"results", results}}}}};
  return json_text(document, JsonLayout::indented);
}

}  // namespace ptxwire::sim
