#include "sim/report/lint.hpp"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>

#include "ptx_frontend/container/ptx_file.hpp"
#include "ptx_frontend/container/ptx_images.hpp"
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

namespace {

/// By their places; what is found at one place keeps its order.
ptx::Diagnostics in_order(const ptx::Diagnostics& diagnostics) {
  std::vector<ptx::Diagnostic> list = diagnostics.list();
  std::stable_sort(list.begin(), list.end(), [](const ptx::Diagnostic& a, const ptx::Diagnostic& b) {
    return a.range.begin < b.range.begin;
  });
  ptx::Diagnostics sorted;
  for (ptx::Diagnostic& diagnostic : list) sorted.add(std::move(diagnostic));
  return sorted;
}

LintedFile lint_text_of(const std::string& path, std::shared_ptr<const std::string> text) {
  LintedFile file;
  file.path = path;
  file.text = std::move(text);
  ptx::Module module = ptx::parse(file.text, path, file.diagnostics);
  ptx::check(module, file.diagnostics);
  file.diagnostics = in_order(file.diagnostics);
  return file;
}

}  // namespace

/// The binary's texts, one after the other; nothing for what is no binary with PTX.
static std::vector<LintedFile> lint_binary(const std::string& path) {
  const Expected<std::shared_ptr<const std::string>> bytes =
      ptx::read_text_file(path.substr(0, path.rfind("@sm_")));
  if (!bytes || !ptx::may_hold_ptx(**bytes)) return {};
  Expected<std::vector<ptx::PtxText>> texts = ptx::read_ptx(path);
  std::vector<LintedFile> files;
  if (!texts) {
    files.emplace_back();
    files.back().path = path;
    files.back().unreadable = texts.error();
    return files;
  }
  for (ptx::PtxText& text : *texts) files.push_back(lint_text_of(text.name, std::move(text.text)));
  return files;
}

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
  return lint_text_of(path, *text);
}

namespace {

/// The paths with folders replaced by their PTX files. A folder without any stays, to be reported.
std::vector<std::string> expand(const std::vector<std::string>& paths) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code code;
    std::vector<std::string> inside;
    if (fs::is_directory(path, code)) {
      constexpr auto kOptions = fs::directory_options::skip_permission_denied;
      for (fs::recursive_directory_iterator at(path, kOptions, code), end; !code && at != end;
           at.increment(code)) {
        if (at->path().extension() == ".ptx" && at->is_regular_file(code))
          inside.push_back(at->path().string());
      }
      std::sort(inside.begin(), inside.end());
    }
    if (inside.empty()) inside.push_back(path);
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

}  // namespace

std::vector<LintedFile> lint_files(const std::vector<std::string>& paths, unsigned threads) {
  const std::vector<std::string> names = expand(paths);
  std::vector<std::vector<LintedFile>> results(names.size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < names.size(); i = next++) {
      results[i] = lint_binary(names[i]);
      if (results[i].empty()) results[i].push_back(lint_file(names[i]));
    }
  };
  if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::thread> pool;
  for (size_t i = 1; i < std::min<size_t>(threads, names.size()); ++i) pool.emplace_back(work);
  work();
  for (std::thread& thread : pool) thread.join();
  std::vector<LintedFile> files;
  for (std::vector<LintedFile>& result : results)
    std::move(result.begin(), result.end(), std::back_inserter(files));
  return files;
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
