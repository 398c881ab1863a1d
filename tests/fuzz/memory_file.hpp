// Gives bytes a path, for loaders that take one: an anonymous file in memory, gone with the object.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace ptxwire::fuzz {

class MemoryFile {
 public:
  MemoryFile(const uint8_t* data, size_t size) : descriptor_(memfd_create("input", 0)) {
    usable_ = descriptor_ >= 0 && write(descriptor_, data, size) == static_cast<ssize_t>(size);
  }
  ~MemoryFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  [[nodiscard]] bool usable() const { return usable_; }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
  bool usable_ = false;
};

}  // namespace ptxwire::fuzz
