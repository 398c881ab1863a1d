#include "sim/cli/output.hpp"

#include <cstdio>

#include "sim/report/files.hpp"

namespace ptxwire::cli {
namespace {

constexpr std::string_view kStandardOutput = "-";

Expected<void> print(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
    return Error{.message = "cannot write to standard output"};
  }
  return {};
}

}  // namespace

Expected<void> check_output(const std::string& json_path) {
  if (json_path.empty() || json_path == kStandardOutput) return {};
  return sim::check_writable(json_path);
}

Expected<void> write_output(const std::string& json_path, const std::string& table, const std::string& json) {
  if (json_path == kStandardOutput) return print(json);
  if (!json_path.empty()) {
    if (Expected<void> written = sim::write_file(json_path, json); !written) return written;
  }
  return print(table);
}

void print_note(const std::string& text) { std::fputs(("note: " + text + '\n').c_str(), stderr); }

}  // namespace ptxwire::cli
