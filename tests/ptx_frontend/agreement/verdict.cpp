#include "tests/ptx_frontend/agreement/verdict.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "ptx_frontend/frontend.hpp"

namespace ptxwire::ptx::agreement {
namespace {

/// sm_90a, or the `.target` of the text where that needs another.
std::string architecture(const std::string& text) {
  const size_t at = text.find(".target");
  if (at == std::string::npos) return "sm_90a";
  const size_t begin = text.find("sm_", at);
  if (begin == std::string::npos) return "sm_90a";
  const std::string target =
      text.substr(begin, text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789", begin) - begin);
  return std::atoi(target.c_str() + 3) >= 100 ? target : "sm_90a";
}

}  // namespace

bool have_ptxas() { return std::system("command -v ptxas > /dev/null 2>&1") == 0; }

Verdict ask_ptxas(const std::string& text) {
  static std::atomic<unsigned> count{0};
  const auto path =
      std::filesystem::temp_directory_path() /
      ("ptxwire_agreement_" + std::to_string(getpid()) + '_' + std::to_string(count++) + ".ptx");
  std::ofstream(path) << text;
  const std::string command =
      "timeout 20 ptxas -arch=" + architecture(text) + " -O0 -c " + path.string() + " -o /dev/null 2>&1";
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  for (char line[4096]; pipe != nullptr && std::fgets(line, sizeof line, pipe) != nullptr;) output += line;
  const int status = pipe == nullptr ? -1 : pclose(pipe);
  std::filesystem::remove(path);
  Verdict verdict;
  verdict.accepted = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  const size_t error = std::min(output.find("; error"), output.find("; fatal"));
  const size_t any = error != std::string::npos ? error : output.find("fatal");
  verdict.undecided =
      !verdict.accepted && (any == std::string::npos || output.find("nternal") != std::string::npos ||
                            output.find("Unknown error") != std::string::npos);
  if (any != std::string::npos) {
    const size_t begin = output.find(':', any);
    verdict.message = output.substr(begin + 2, output.find('\n', begin) - begin - 2);
  }
  return verdict;
}

Verdict ask_front_end(const std::string& text) {
  Diagnostics diagnostics;
  Module module = parse(std::make_shared<const std::string>(text), "mutant.ptx", diagnostics);
  if (!diagnostics.has_errors()) check(module, diagnostics);
  Verdict verdict;
  verdict.accepted = !diagnostics.has_errors();
  for (const Diagnostic& diagnostic : diagnostics.list()) {
    if (diagnostic.severity != Severity::error) continue;
    verdict.message = diagnostic.message;
    verdict.id = diagnostic.id;
    break;
  }
  return verdict;
}

}  // namespace ptxwire::ptx::agreement
