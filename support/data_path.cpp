#include "support/data_path.hpp"

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace ptxwire {
namespace {

namespace fs = std::filesystem;

/// Folder of the running executable, empty if the system does not say (no /proc).
fs::path executable_folder() {
  std::error_code failed;
  const fs::path executable = fs::read_symlink("/proc/self/exe", failed);
  return failed ? fs::path() : executable.parent_path();
}

}  // namespace

std::vector<std::string> data_roots() {
  const char* chosen = std::getenv("PTXWIRE_DATA");
  if (chosen != nullptr && *chosen != '\0') return {chosen};
  std::vector<std::string> roots;
  if (const fs::path folder = executable_folder(); !folder.empty()) {
    roots.push_back((folder.parent_path() / "share" / "ptxwire").string());
  }
  roots.emplace_back(PTXWIRE_SOURCE_ROOT);
  roots.emplace_back(PTXWIRE_INSTALLED_DATA);
  return roots;
}

Expected<std::string> find_data_file(std::string_view relative) {
  const fs::path wanted(relative);
  if (wanted.empty() || wanted.is_absolute()) {
    return Error{.message =
                     "expected the relative path of a data file, found '" + std::string(relative) + "'"};
  }
  const std::vector<std::string> roots = data_roots();
  std::string searched;
  for (const std::string& root : roots) {
    std::error_code failed;
    const fs::path candidate = fs::absolute(fs::path(root) / wanted, failed);
    if (!failed && fs::exists(candidate, failed)) return candidate.lexically_normal().string();
    searched += (searched.empty() ? "" : ", ") + root;
  }
  return Error{.message = "data file '" + std::string(relative) + "' not found, searched: " + searched,
               .hint = "set PTXWIRE_DATA to the folder that holds models/, kernels/ and traces/"};
}

}  // namespace ptxwire
