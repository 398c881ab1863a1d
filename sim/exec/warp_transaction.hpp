// A transaction with its functional half: lanes, addresses and bytes.
#pragma once

#include <array>
#include <cstdint>

#include "models/base/transaction.hpp"
#include "ptx_frontend/program.hpp"
#include "sim/memory/address_map.hpp"

namespace ptxwire::sim {

struct Cta;
struct Warp;
struct Fragment;
struct BulkCopy;

struct WarpTransaction final : models::Transaction {
  /// box: pieces of a tensor (TensorBox), listed in `second`. cache_control: prefetch, discard,
  /// applypriority; nobody waits for it.
  enum class Role : uint8_t { lanes, bulk, box, async_copy, cache_control };
  static constexpr uint32_t kDataBytes = 1024;
  static constexpr uint32_t kKeptSectors = 16;  ///< for L1, behind the 512 bytes of the lanes

  Role role = Role::lanes;
  bool contiguous = false;      ///< the lanes of `mask` form one run and their bytes one range from `base`
  bool wakes_fragment = false;  ///< the fragment waits for this one (acquire loads)
  bool invalidates_l1 = false;
  bool fills_l1 = false;
  bool tracked_store = false;  ///< counted by the CTA's StoreTracker
  bool poll = false;           ///< issued inside a poll loop: remember what was read
  uint8_t lane_bytes = 0;      ///< bytes per lane, 1..16
  uint8_t waker = 0;           ///< lanes: slot of the warp; else kWokenOtherwise
  uint32_t pc = 0;
  uint32_t mask = 0;
  uint32_t row_base = 0;
  uint32_t home_index = 0;    ///< as home_of() says
  uint32_t window_bytes = 0;  ///< of the SM's store window
  const ptx::Op* op = nullptr;
  Cta* cta = nullptr;
  Warp* warp = nullptr;
  Fragment* fragment = nullptr;
  uint32_t fragment_token = 0;
  uint64_t store_epoch = 0;
  uint64_t l1_changes = 0;        ///< of L1 when it was issued
  uint64_t base = 0;              ///< address of the first lane (or of the chunk)
  models::Picoseconds sampled{};  ///< when the (last) part was performed
  BulkCopy* bulk = nullptr;
  uint32_t bulk_offset = 0;  ///< of this chunk
  uint32_t bulk_bytes = 0;
  ptx::Type element_type = ptx::Type::none;  ///< box: of a reduction
  /// By lane; not written for contiguous loads and stores, unless they poll.
  std::array<uint64_t, 32> address{};
  alignas(64) std::array<uint8_t, kDataBytes> data{};  ///< lanes: lane * lane_bytes; bulk: bytes in order
  alignas(16) std::array<uint8_t, 512> second{};       ///< cas: new value, per lane; cp.async: shared
                                                       ///< offsets, from 128 on the bytes to keep

  /// `home` as home_of() says.
  void set_home(uint32_t home) {
    home_index = home;
    host_memory = home >= kHostBias;
    home_gpu = {home % kHostBias};
  }
  [[nodiscard]] uint32_t home() const { return home_index; }
};

}  // namespace ptxwire::sim
