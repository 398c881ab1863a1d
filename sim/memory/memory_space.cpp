#include "sim/memory/memory_space.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>

#include "sim/memory/address_map.hpp"

namespace ptxwire::sim {
namespace {

constexpr uint64_t kMaxSpace = 1ULL << kGpuShift;

}  // namespace

MemorySpace::MemorySpace(uint32_t home) : base_(home_base(home)) {}

MemorySpace::~MemorySpace() {
  for (const Allocation& allocation : allocations_)
    if (allocation.data != nullptr) munmap(allocation.data, std::max<uint64_t>(allocation.bytes, 1));
}

Expected<uint64_t> MemorySpace::allocate(uint64_t bytes, std::string name, uint64_t align) {
  const uint64_t page = 1ULL << kPageShift;
  if (align == 0 || (align & (align - 1)) != 0 || align > page)
    return Error{
        .message = fmt::format("alignment of '{}' is {}, expected a power of two up to 2 MiB", name, align)};
  if (bytes > kMaxSpace - next_ - 2 * page)
    return Error{.message =
                     fmt::format("allocation '{}' of {} bytes does not fit into the address space of its GPU",
                                 name, bytes)};
  void* data = mmap(nullptr, std::max<uint64_t>(bytes, 1), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED)
    return Error{.message =
                     fmt::format("this machine has no memory for allocation '{}' of {} bytes", name, bytes)};
  const uint64_t pages = (bytes + page - 1) / page;
  const uint64_t offset = next_;
  next_ += (std::max<uint64_t>(pages, 1) + 1) * page;
  page_owner_.resize(next_ >> kPageShift, kNone);
  for (uint64_t i = 0; i < std::max<uint64_t>(pages, 1); ++i)
    page_owner_[(offset >> kPageShift) + i] = static_cast<uint32_t>(allocations_.size());
  allocations_.push_back({base_ + offset, bytes, static_cast<uint8_t*>(data), std::move(name), false});
  allocated_ += bytes;
  return base_ + offset;
}

Expected<void> MemorySpace::free(uint64_t address) {
  for (Allocation& allocation : allocations_) {
    if (allocation.base != address) continue;
    if (allocation.freed)
      return Error{.message =
                       fmt::format("allocation '{}' at {:#x} is freed twice", allocation.name, address)};
    munmap(allocation.data, std::max<uint64_t>(allocation.bytes, 1));
    allocation.data = nullptr;
    allocation.freed = true;
    allocated_ -= allocation.bytes;
    return {};
  }
  return Error{.message = fmt::format("{:#x} is not the start of an allocation", address)};
}

std::string MemorySpace::describe(uint64_t address, uint64_t bytes) const {
  const Allocation* below = nullptr;
  for (const Allocation& allocation : allocations_)
    if (allocation.base <= address) below = &allocation;
  if (below == nullptr) return "no allocation lies below it";
  const uint64_t offset = address - below->base;
  if (below->freed) return fmt::format("'{}' was there and is freed", below->name);
  if (offset + bytes > below->bytes)
    return fmt::format("{} bytes behind the start of '{}', which has {} bytes", offset, below->name,
                       below->bytes);
  return fmt::format("inside '{}'", below->name);
}

}  // namespace ptxwire::sim
