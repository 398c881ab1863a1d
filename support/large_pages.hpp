// Memory in the host's large pages, for state of many megabytes that is reached at random: with small pages
// most such accesses wait for address translation before they wait for the line itself.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <vector>

namespace ptxwire {

/// Hands out memory piece by piece and takes all of it back when it is destroyed; what is freed before is not
/// used again. For containers that only grow, or below a std::pmr pool. Not thread-safe. Large pages are
/// asked for, not required.
class LargePages final : public std::pmr::memory_resource {
 public:
  LargePages() = default;
  ~LargePages() override;
  LargePages(const LargePages&) = delete;
  LargePages& operator=(const LargePages&) = delete;

 private:
  void* do_allocate(size_t bytes, size_t alignment) override;
  void do_deallocate(void*, size_t, size_t) override {}
  [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }

  std::vector<std::byte*> regions_;
  std::byte* free_ = nullptr;  ///< rest of the region last begun
  size_t free_bytes_ = 0;
};

}  // namespace ptxwire
