// Every diagnostic of PTX files: as text for people, as JSON (schema: docs/json.md), as SARIF 2.1.0 for the
// viewers of code hosts.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ptx_frontend/syntax/diagnostics.hpp"
#include "support/error.hpp"

namespace ptxwire::sim {

/// One file as the front end saw it.
struct LintedFile {
  std::string path;
  std::shared_ptr<const std::string> text;  ///< null if unreadable
  ptx::Diagnostics diagnostics;             ///< empty if unreadable
  std::optional<Error> unreadable;          ///< missing, a folder, empty or binary: not PTX text at all
};

/// Parses and checks one file.
LintedFile lint_file(const std::string& path);

/// Files, of binaries the PTX in them, and of folders every *.ptx in them and below, by name; on `threads`
/// threads (0: all cores). The order is that of the paths.
std::vector<LintedFile> lint_files(const std::vector<std::string>& paths, unsigned threads);

/// Diagnostics in the manner of clang, one after the other, and a last line that counts them.
std::string lint_text(const std::vector<LintedFile>& files, bool colour);
std::string lint_json(const std::vector<LintedFile>& files);
std::string lint_sarif(const std::vector<LintedFile>& files);

/// 0 clean (warnings do not count), 1 errors in readable PTX, 2 a file that could not be read as PTX.
int lint_exit_code(const std::vector<LintedFile>& files);

}  // namespace ptxwire::sim
