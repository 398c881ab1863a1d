#include "support/large_pages.hpp"

#include <sys/mman.h>

#include <memory>
#include <new>

namespace ptxwire {
namespace {

constexpr size_t kPageBytes = size_t{2} << 20;

}  // namespace

LargePages::~LargePages() {
  for (const Region& region : regions_) munmap(region.begin, region.bytes);
}

/// Whole large pages. The kernel takes large ones only where addresses are multiples of their size, so one
/// page more is mapped than needed; what lies around is never touched and costs nothing.
std::byte* LargePages::map(size_t bytes) {
  const size_t mapped = bytes + kPageBytes;
  void* begin =
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED) throw std::bad_alloc();
  regions_.push_back({static_cast<std::byte*>(begin), mapped});
  void* aligned = begin;
  size_t room = mapped;
  std::align(kPageBytes, bytes, aligned, room);
  madvise(aligned, bytes, MADV_HUGEPAGE);  // a hint: the run is right without
  return static_cast<std::byte*>(aligned);
}

void* LargePages::do_allocate(size_t bytes, size_t alignment) {
  void* place = free_;
  if (std::align(alignment, bytes, place, free_bytes_) == nullptr) {
    const size_t whole = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
    place = map(whole);
    free_bytes_ = whole;
  }
  free_ = static_cast<std::byte*>(place) + bytes;
  free_bytes_ -= bytes;
  return place;
}

}  // namespace ptxwire
