// Memory in the host's large pages, for state of many megabytes that is reached at random: with small pages
// most such accesses wait for address translation before they wait for the line itself.
#pragma once

#include <cstddef>
#include <map>
#include <memory_resource>
#include <new>
#include <utility>
#include <vector>

namespace ptxwire {

/// Hands out memory piece by piece and takes all of it back when it is destroyed. Of what is freed before
/// only pieces of over a page, such as a std::pmr pool passes on, are used again, for others of about their
/// size. For containers that grow, or below such a pool. Not thread-safe. Large pages are asked for, not
/// required, and not for the first quarter of a megabyte.
class LargePages final : public std::pmr::memory_resource {
 public:
  LargePages() = default;
  ~LargePages() override;
  LargePages(const LargePages&) = delete;
  LargePages& operator=(const LargePages&) = delete;

 private:
  void* do_allocate(size_t bytes, size_t alignment) override;
  void do_deallocate(void* piece, size_t bytes, size_t alignment) override;
  void* new_piece(size_t bytes, size_t alignment);
  [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }

  std::vector<std::pair<std::byte*, std::align_val_t>> regions_;
  size_t handed_out_ = 0;      ///< bytes of all regions
  std::byte* free_ = nullptr;  ///< rest of the region last begun
  size_t free_bytes_ = 0;
  std::map<size_t, std::vector<void*>> freed_;  ///< by size, rounded up
};

}  // namespace ptxwire
