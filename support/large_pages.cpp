#include "support/large_pages.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <new>

namespace ptxwire {
namespace {

constexpr size_t kPageBytes = size_t{2} << 20;
constexpr size_t kFirstRegions = size_t{256} << 10;  ///< below this in all, regions are of an eighth of it
constexpr size_t kSmall = 4096;                      ///< pieces of more are aligned to it and used again

constexpr size_t rounded_size(size_t bytes) { return (bytes + kSmall - 1) / kSmall * kSmall; }

}  // namespace

LargePages::~LargePages() {
  for (const auto& [region, alignment] : regions_) ::operator delete(region, alignment);
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
    // Who asks for little gets little: there may be thousands of these.
    const bool large = bytes + handed_out_ > kFirstRegions;
    const size_t unit = large ? kPageBytes : kFirstRegions / 8;
    free_bytes_ = (bytes + unit - 1) / unit * unit;
    place = ::operator new (free_bytes_, std::align_val_t{unit});
    regions_.emplace_back(static_cast<std::byte*>(place), std::align_val_t{unit});
    if (large) madvise(place, free_bytes_, MADV_HUGEPAGE);  // a hint: the run is right without
    handed_out_ += free_bytes_;
  }
  free_ = static_cast<std::byte*>(place) + bytes;
  free_bytes_ -= bytes;
  return place;
}

}  // namespace ptxwire
