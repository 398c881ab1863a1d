#include "sim/memory/memory_space.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

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
  allocations_.push_back({base_ + offset, bytes, static_cast<uint8_t*>(data), std::move(name), false, {}});
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

const Allocation* MemorySpace::allocation_of(uint64_t address) const {
  const uint64_t page = (address - base_) >> kPageShift;
  return page < page_owner_.size() && page_owner_[page] != kNone ? &allocations_[page_owner_[page]] : nullptr;
}

Expected<void> MemorySpace::elide(const ElidedRows& rows) {
  if (rows.count == 0 || rows.bytes == 0) return {};
  if (rows.bytes > rows.stride)
    return Error{.message = fmt::format("elided rows of {} bytes overlap, they are {} bytes apart",
                                        rows.bytes, rows.stride)};
  const uint64_t span = (rows.count - 1) * rows.stride + rows.bytes;
  if (resolve(rows.address, span) == nullptr)
    return Error{.message = fmt::format("{} elided rows at {:#x} are not inside one allocation", rows.count,
                                        rows.address)};
  Allocation& allocation = allocations_[page_owner_[(rows.address - base_) >> kPageShift]];
  const auto after = std::find_if(allocation.elided.begin(), allocation.elided.end(),
                                  [&](const ElidedRows& other) { return other.address > rows.address; });
  const bool meets_next = after != allocation.elided.end() && after->address < rows.end();
  const bool meets_last = after != allocation.elided.begin() && (after - 1)->end() > rows.address;
  if (meets_next || meets_last)
    return Error{.message = fmt::format("elided rows at {:#x} overlap others", rows.address)};
  allocation.elided.insert(after, rows);
  elides_ = true;
  return {};
}

template <typename Visit>
void MemorySpace::visit_runs(const Allocation& allocation, uint64_t address, uint64_t bytes, Visit visit) {
  const std::vector<ElidedRows>& all = allocation.elided;
  auto rows = std::upper_bound(all.begin(), all.end(), address,
                               [](uint64_t at, const ElidedRows& one) { return at < one.address; });
  if (rows != all.begin() && address < (rows - 1)->end()) --rows;
  for (const uint64_t end = address + bytes; address < end;) {
    if (rows == all.end() || address < rows->address) {
      const uint64_t stop = rows == all.end() ? end : std::min(end, rows->address);
      visit(address, stop - address, allocation.data + (address - allocation.base));
      address = stop;
      continue;
    }
    if (address >= rows->end()) {
      ++rows;
      continue;
    }
    const uint64_t row = (address - rows->address) / rows->stride;
    const uint64_t within = (address - rows->address) % rows->stride;
    const bool payload = within < rows->bytes;
    const uint64_t run = (payload ? rows->bytes : rows->stride) - within;
    const uint64_t stop = std::min(end, address + run);
    uint8_t* kept = allocation.data + (rows->address - allocation.base) + row * (rows->stride - rows->bytes) +
                    (within - rows->bytes);
    visit(address, stop - address, payload ? nullptr : kept);
    address = stop;
  }
}

uint8_t* MemorySpace::place_of(const Allocation& allocation, uint64_t address, uint64_t bytes) {
  thread_local std::vector<uint8_t> scratch;
  uint8_t* place = nullptr;
  size_t runs = 0;
  visit_runs(allocation, address, bytes, [&](uint64_t, uint64_t, uint8_t* memory) {
    place = memory;
    ++runs;
  });
  if (runs == 1 && place != nullptr) return place;
  constexpr uint64_t kLeast = 4096, kMost = 1U << 20U;  // longer ranges are only asked whether they are there
  const uint64_t room = std::clamp(bytes, kLeast, kMost);
  if (scratch.size() < room) scratch.resize(room);
  std::fill_n(scratch.begin(), std::min(bytes, room), uint8_t{0});
  return scratch.data();
}

bool MemorySpace::is_elided(uint64_t address, uint64_t bytes) const {
  const Allocation* allocation = elides_ ? allocation_of(address) : nullptr;
  bool found = false;
  if (allocation != nullptr && !allocation->elided.empty())
    visit_runs(*allocation, address, bytes,
               [&](uint64_t, uint64_t, const uint8_t* memory) { found = found || memory == nullptr; });
  return found;
}

void MemorySpace::read(uint64_t address, uint64_t bytes, uint8_t* to) const {
  visit_runs(*allocation_of(address), address, bytes,
             [&](uint64_t at, uint64_t count, const uint8_t* memory) {
               if (memory != nullptr)
                 std::memcpy(to + (at - address), memory, count);
               else
                 std::memset(to + (at - address), 0, count);
             });
}

void MemorySpace::write(uint64_t address, uint64_t bytes, const uint8_t* from) {
  visit_runs(*allocation_of(address), address, bytes, [&](uint64_t at, uint64_t count, uint8_t* memory) {
    if (memory != nullptr) std::memcpy(memory, from + (at - address), count);
  });
}

}  // namespace ptxwire::sim
