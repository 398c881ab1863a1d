#include "support/large_pages.hpp"

#include <sys/mman.h>

#include <memory>
#include <new>

namespace ptxwire {
namespace {

constexpr size_t kPageBytes = size_t{2} << 20;
constexpr std::align_val_t kPageAlignment{kPageBytes};

}  // namespace

LargePages::~LargePages() {
  for (std::byte* region : regions_) ::operator delete(region, kPageAlignment);
}

void* LargePages::do_allocate(size_t bytes, size_t alignment) {
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
