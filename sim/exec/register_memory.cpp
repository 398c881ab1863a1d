#include "sim/exec/register_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

namespace ptxwire::sim {
namespace {

constexpr size_t kRowBytes = 128, kAlignment = 64;
constexpr uint32_t kNothing = UINT32_MAX;
constexpr size_t kRegionBytes = size_t{64} << 20;  ///< of addresses; the host backs what is touched

constexpr size_t whole_pages(size_t bytes) {
  return (bytes + RegisterMemory::kPageBytes - 1) / RegisterMemory::kPageBytes * RegisterMemory::kPageBytes;
}

}  // namespace

static_assert(RegisterMemory::kPageRows == 32, "a page of rows is a word of a bit per row");

RegisterMemory::~RegisterMemory() {
  for (std::byte* region : regions_) munmap(region, kRegionBytes);
}

uint32_t* RegisterMemory::take_spare(size_t bytes) {
  std::vector<uint32_t*>& free = free_[bytes];
  if (!free.empty()) {
    uint32_t* block = free.back();
    free.pop_back();
    return block;
  }
  if (regions_.empty() || region_used_ + bytes > kRegionBytes) {
    void* region = mmap(nullptr, kRegionBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region == MAP_FAILED) throw std::bad_alloc();
    madvise(region, kRegionBytes, MADV_NOHUGEPAGE);  // a hint
    regions_.push_back(static_cast<std::byte*>(region));
    region_used_ = 0;
  }
  std::byte* block = regions_.back() + region_used_;
  region_used_ += bytes;
  return reinterpret_cast<uint32_t*>(block);
}

void RegisterMemory::give_back_spare(uint32_t* block, size_t bytes) {
  if (madvise(block, bytes, MADV_DONTNEED) != 0) std::memset(block, 0, bytes);
  free_[bytes].push_back(block);
}

RegisterRows::~RegisterRows() { release(); }

void RegisterRows::release() {
  if (data_ == nullptr) return;
  if (spare_)
    memory_.give_back_spare(data_, bytes_);
  else
    memory_.common_.deallocate(data_, bytes_, kAlignment);
}

void RegisterRows::resize(size_t rows) {
  const size_t exact = rows * kRowBytes;
  if (exact <= bytes_) return;
  const bool spare = memory_.spare_ && exact <= kRegionBytes;
  const size_t bytes = spare ? whole_pages(exact) : exact;
  uint32_t* block =
      spare ? memory_.take_spare(bytes) : static_cast<uint32_t*>(memory_.common_.allocate(bytes, kAlignment));
  if (!spare) std::memset(block, 0, bytes);
  if (data_ != nullptr) std::memcpy(block, data_, bytes_);
  release();
  data_ = block;
  bytes_ = bytes;
  spare_ = spare;
}

// A row is its number times two plus whether it follows lane by lane, then one word or 32: addresses and
// counters of a warp are mostly the same in all lanes.
void RegisterRows::stow(std::span<const uint32_t> live) {
  if (!spare_ || stowed()) return;
  stowed_.clear();
  const auto keep = [&](uint32_t row) {
    const uint32_t* values = data_ + size_t{row} * 32;
    const bool alike = std::equal(values + 2, values + 32, values);  // a pair alternates between its halves
    const uint32_t count = alike ? 2 : 32;
    stowed_.push_back(row << 1 | (alike ? 0U : 1U));
    stowed_.insert(stowed_.end(), values, values + count);
  };
  for (uint32_t word = 0; word < live.size(); ++word)
    for (uint32_t m = live[word]; m != 0; m &= m - 1)
      keep(word * 32 + static_cast<uint32_t>(std::countr_zero(m)));
  if (stowed_.empty()) stowed_.push_back(kNothing);
  stowed_.shrink_to_fit();
  madvise(data_, bytes_, MADV_DONTNEED);  // a hint: what stays is written again
}

void RegisterRows::restore() {
  for (size_t i = 0; i < stowed_.size() && stowed_[i] != kNothing;) {
    uint32_t* values = data_ + size_t{stowed_[i] >> 1} * 32;
    const bool alike = (stowed_[i] & 1U) == 0;
    ++i;
    if (alike)
      for (uint32_t lane = 0; lane < 32; ++lane) values[lane] = stowed_[i + lane % 2];
    else
      std::copy_n(&stowed_[i], 32, values);
    i += alike ? 2 : 32;
  }
  stowed_ = {};
}

}  // namespace ptxwire::sim
