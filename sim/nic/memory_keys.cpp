#include "sim/nic/memory_keys.hpp"

#include <fmt/format.h>

namespace ptxwire::sim {

namespace {

// A key tells its NIC, its region and its kind apart, so that a key of another NIC, a local key where a
// remote one belongs and a key in the wrong byte order are all unknown.
constexpr uint32_t kRegionBits = 16, kLocalTag = 0x5, kRemoteTag = 0xa;

uint32_t make_key(uint32_t nic, size_t region, uint32_t tag) {
  return (nic + 1) << (kRegionBits + 4) | static_cast<uint32_t>(region) << 4U | tag;
}

}  // namespace

MemoryKeys MemoryKeyTable::add(DeviceAddress address, uint64_t bytes, const MemoryRights& rights) {
  regions_.push_back({address, bytes, rights});
  return {make_key(nic_, regions_.size() - 1, kLocalTag), make_key(nic_, regions_.size() - 1, kRemoteTag)};
}

const MemoryKeyTable::Region* MemoryKeyTable::find(uint32_t key, bool local) const {
  const uint32_t region = key >> 4U & ((1U << kRegionBits) - 1);
  if (region >= regions_.size() || key != make_key(nic_, region, local ? kLocalTag : kRemoteTag))
    return nullptr;
  return &regions_[region];
}

std::string MemoryKeyTable::refuse(uint32_t key, uint64_t address, uint64_t bytes, bool local,
                                   bool MemoryRights::*right) const {
  const Region* region = find(key, local);
  if (region == nullptr) {
    const uint32_t swapped = __builtin_bswap32(key);
    if (find(swapped, local) != nullptr)
      return fmt::format("{:#x} is the {} key {:#x} in the wrong byte order", key, local ? "local" : "remote",
                         swapped);
    return fmt::format("{:#x} is no {} key of NIC {}", key, local ? "local" : "remote", nic_);
  }
  if (address < region->address || bytes > region->bytes || address - region->address > region->bytes - bytes)
    return fmt::format("{} bytes at {:#x} are not inside the {} bytes at {:#x} that key {:#x} covers", bytes,
                       address, region->bytes, region->address, key);
  if (right != nullptr && !(region->rights.*right))
    return fmt::format("key {:#x} does not allow this access", key);
  return {};
}

}  // namespace ptxwire::sim
