// A transaction with its functional half: lanes, addresses and bytes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

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
  static constexpr uint32_t kDataBytes = 1024, kSecondBytes = 512;
  static constexpr uint32_t kKeptSectors = 16;  ///< for L1

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

  /// lanes, cp.async: lane * lane_bytes; bulk, box: bytes in order, up to kDataBytes.
  [[nodiscard]] uint8_t* data() { return wide() ? wide_->data() : lanes_.data(); }
  [[nodiscard]] const uint8_t* data() const { return wide() ? wide_->data() : lanes_.data(); }
  /// For L1, where `fills_l1`: kKeptSectors sectors.
  [[nodiscard]] uint8_t* kept() { return second(); }
  [[nodiscard]] const uint8_t* kept() const { return second(); }
  /// cas: new value, per lane; cp.async: shared offsets, from 128 on the bytes to keep; box: its pieces.
  /// kSecondBytes.
  [[nodiscard]] uint8_t* second() { return second_->data(); }
  [[nodiscard]] const uint8_t* second() const { return second_->data(); }
  /// Whoever issues the transaction asks for room first where it is neither a plain load nor a plain store
  /// of lanes: most are, and thousands are in flight.
  void make_room() {
    if (second_ == nullptr) second_ = std::make_unique<Bytes<kSecondBytes>>();
    if (wide() && wide_ == nullptr) wide_ = std::make_unique<Bytes<kDataBytes>>();
  }

  /// `home` as home_of() says.
  void set_home(uint32_t home) {
    home_index = home;
    host_memory = home >= kHostBias;
    home_gpu = {home % kHostBias};
  }
  [[nodiscard]] uint32_t home() const { return home_index; }

 private:
  template <size_t bytes>
  struct alignas(16) Bytes : std::array<uint8_t, bytes> {};
  [[nodiscard]] bool wide() const { return role == Role::bulk || role == Role::box; }

  alignas(64) std::array<uint8_t, kDataBytes / 2> lanes_{};
  std::unique_ptr<Bytes<kSecondBytes>> second_;
  std::unique_ptr<Bytes<kDataBytes>> wide_;
};

}  // namespace ptxwire::sim
