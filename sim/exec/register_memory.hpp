// Host memory for the registers of warps. With tens of thousands of warps per rank and hundreds of ranks it
// is what a run needs most of, and few of a warp's registers hold a value while it waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory_resource>
#include <span>
#include <vector>

namespace ptxwire::sim {

/// Blocks of register rows (32 lanes of 32 bits), zero when they are handed out. Either from `common` memory
/// or, where `spare`, in pages of their own, of which the host keeps only those that were written and not
/// forgotten. Not thread-safe.
class RegisterMemory {
 public:
  static constexpr size_t kPageBytes = 4096;
  static constexpr size_t kPageRows = kPageBytes / 128;

  explicit RegisterMemory(std::pmr::memory_resource& common) : common_(common) {}
  ~RegisterMemory();
  RegisterMemory(const RegisterMemory&) = delete;
  RegisterMemory& operator=(const RegisterMemory&) = delete;

  /// For blocks from now on.
  void set_spare(bool spare) { spare_ = spare; }

 private:
  friend class RegisterRows;

  uint32_t* take_spare(size_t bytes);
  void give_back_spare(uint32_t* block, size_t bytes);

  bool spare_ = false;
  std::pmr::memory_resource& common_;
  std::vector<std::byte*> regions_;
  size_t region_used_ = 0;                         ///< of the last region
  std::map<size_t, std::vector<uint32_t*>> free_;  ///< spare blocks by size; all zero
};

/// The registers of one warp: row r begins at data() + 32 r.
class RegisterRows {
 public:
  explicit RegisterRows(RegisterMemory& memory) : memory_(memory) {}
  ~RegisterRows();
  RegisterRows(const RegisterRows&) = delete;
  RegisterRows& operator=(const RegisterRows&) = delete;

  /// Keeps what there is; new rows are zero.
  void resize(size_t rows);
  [[nodiscard]] uint32_t* data() { return data_; }
  [[nodiscard]] const uint32_t* data() const { return data_; }
  uint32_t& operator[](size_t word) { return data_[word]; }
  const uint32_t& operator[](size_t word) const { return data_[word]; }

  [[nodiscard]] bool spare() const { return spare_; }
  /// Where memory is spare: keeps the values of the rows in `live` (a bit per row, missing ones are 0) in
  /// little room and gives the rest back to the host. Nobody may read rows before restore(); what is written
  /// to rows that are not live is lost.
  void stow(std::span<const uint32_t> live);
  [[nodiscard]] bool stowed() const { return !stowed_.empty(); }
  void restore();

 private:
  void release();

  RegisterMemory& memory_;
  uint32_t* data_ = nullptr;
  size_t bytes_ = 0;
  bool spare_ = false;
  std::vector<uint32_t> stowed_;  ///< the live rows, as stow() writes them
};

}  // namespace ptxwire::sim
