#include "sim/study/text_file.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace ptxwire::sim {

Expected<std::string> read_whole_file(const std::string& path) {
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed)) {
    return Error{.message = "cannot read: it is a folder", .path = path};
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const char* reason = errno != 0 ? std::strerror(errno) : "unknown reason";
    return Error{.message = "cannot read: " + std::string(reason), .path = path};
  }
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad()) return Error{.message = "cannot read: input/output error", .path = path};
  return text;
}

}  // namespace ptxwire::sim
