#include "support/large_pages.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <new>

namespace ptxwire {
namespace {

constexpr size_t kPageBytes = size_t{2} << 20;
constexpr std::align_val_t kPageAlignment{kPageBytes};
constexpr size_t kSmall = 4096;  ///< pieces of more are aligned to it and used again

constexpr size_t rounded_size(size_t bytes) { return (bytes + kSmall - 1) / kSmall * kSmall; }

}  // namespace

LargePages::~LargePages() {
  for (std::byte* region : regions_) ::operator delete(region, kPageAlignment);
}

void* LargePages::do_allocate(size_t bytes, size_t alignment) {
  if (bytes <= kSmall) return new_piece(bytes, alignment);
  const size_t rounded = rounded_size(bytes);
  std::vector<void*>& freed = freed_[rounded];
  if (freed.empty() || alignment > kSmall) return new_piece(rounded, std::max(alignment, kSmall));
  void* piece = freed.back();
  freed.pop_back();
  return piece;
}

void LargePages::do_deallocate(void* piece, size_t bytes, size_t) {
  if (bytes > kSmall) freed_[rounded_size(bytes)].push_back(piece);
}

void* LargePages::new_piece(size_t bytes, size_t alignment) {
  void* place = free_;
  if (std::align(alignment, bytes, place, free_bytes_) == nullptr) {
    free_bytes_ = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
    place = ::operator new(free_bytes_, kPageAlignment);
    regions_.push_back(static_cast<std::byte*>(place));
    madvise(place, free_bytes_, MADV_HUGEPAGE);  // a hint: the run is right without
  }
  free_ = static_cast<std::byte*>(place) + bytes;
  free_bytes_ -= bytes;
  return place;
}

}  // namespace ptxwire
