#include "sim/report/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace ptxwire::sim {
namespace {

namespace fs = std::filesystem;

Error cannot_write(const std::string& path, const std::string& reason) {
  return Error{.message = "cannot write '" + path + "': " + reason};
}

/// Anything but a regular file that is already there: devices and pipes have no content to protect.
bool is_special(const std::string& path) {
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

std::string temporary_name(const std::string& path) { return path + ".tmp" + std::to_string(getpid()); }

bool write_all(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    content.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

Expected<void> check_writable(const std::string& path) {
  if (path.empty()) return cannot_write(path, "the path is empty");
  std::error_code failed;
  if (fs::is_directory(path, failed)) return cannot_write(path, "it is a folder");
  if (is_special(path)) {
    if (access(path.c_str(), W_OK) != 0) return cannot_write(path, std::strerror(errno));
    return {};
  }
  const std::string temporary = temporary_name(path);
  const int descriptor = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) return cannot_write(path, std::strerror(errno));
  close(descriptor);
  unlink(temporary.c_str());
  return {};
}

Expected<void> write_file(const std::string& path, std::string_view content) {
  const bool direct = is_special(path);
  const std::string target = direct ? path : temporary_name(path);
  const int flags = direct ? O_WRONLY | O_CLOEXEC : O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  const int descriptor = open(target.c_str(), flags, 0666);
  if (descriptor < 0) return cannot_write(path, std::strerror(errno));
  const bool written = write_all(descriptor, content);
  const int write_error = errno;
  const bool closed = close(descriptor) == 0;
  if (!written || !closed) {
    if (!direct) unlink(target.c_str());
    return cannot_write(path, std::strerror(written ? errno : write_error));
  }
  if (!direct && std::rename(target.c_str(), path.c_str()) != 0) {
    const int rename_error = errno;
    unlink(target.c_str());
    return cannot_write(path, std::strerror(rename_error));
  }
  return {};
}

}  // namespace ptxwire::sim
