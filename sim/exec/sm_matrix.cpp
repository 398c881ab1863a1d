// Matrix instructions of one warp: mma on the tensor core of its scheduler, ldmatrix and stmatrix between
// shared memory and fragments.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "sim/exec/matrix_product.hpp"
#include "sim/exec/shared_place.hpp"
#include "sim/exec/sm.hpp"

namespace ptxwire::sim {

using ptx::Op;
using ptx::Opcode;
using ptx::Slot;

namespace {

constexpr uint32_t kLanes = 32, kColumns = 8;
constexpr uint32_t kMatrixRows = 8, kMatrixRowBytes = 16;  ///< of ldmatrix and stmatrix

/// Passes over the 32 banks that eight rows of 16 bytes need.
uint32_t row_passes(const uint64_t* address) {
  std::array<std::array<uint64_t, kMatrixRows>, kLanes> words;
  std::array<uint8_t, kLanes> count{};
  uint32_t worst = 1;
  for (uint32_t row = 0; row < kMatrixRows; ++row) {
    for (uint64_t word = address[row] / 4; word < address[row] / 4 + 4; ++word) {
      auto& bank = words[word % kLanes];
      uint8_t& used = count[word % kLanes];
      if (std::find(bank.begin(), bank.begin() + used, word) == bank.begin() + used) bank[used++] = word;
      worst = std::max<uint32_t>(worst, used);
    }
  }
  return worst;
}

/// Lane l holds elements 2 (l % 4) and the next of row l / 4; transposed: of column l / 4 (PTX
/// ISA 9.7.14.5.15).
struct Pair {
  std::array<uint32_t, 2> row, byte;
};
Pair pair_of(uint32_t lane, bool transposed) {
  const uint32_t slow = lane / 4, fast = lane % 4 * 2;
  if (transposed) return {{fast, fast + 1}, {slow * 2, slow * 2}};
  return {{slow, slow}, {fast * 2, fast * 2 + 2}};
}

/// Registers of B to rows of k: lane l holds 4 bytes of column l / 4 from byte 4 (l % 4) on, 16 further in
/// the second register (PTX ISA 9.7.14.5, B fragments).
void right_rows(const std::array<const uint32_t*, 2>& registers, uint32_t count, uint8_t* rows) {
  for (uint32_t r = 0; r < count; ++r)
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      std::memcpy(rows + lane / 4 * kOperandRowBytes + lane % 4 * 4 + r * 16, registers[r] + lane, 4);
}

}  // namespace

bool Sm::warp_matrix(Fragment& fragment, const ExecOp& exec, const Op& op, uint32_t mask, int64_t cycle) {
  if (!whole_warp(fragment, mask, cycle)) return false;
  if (op.opcode == Opcode::mma) {
    warp_product(fragment, exec, op, cycle);
    ++fragment.pc;
    return true;
  }
  return move_matrices(fragment, exec, op, cycle);
}

// Rows of A and B, and the values of C, are all taken before D is written: its registers may be theirs.
void Sm::warp_product(Fragment& fragment, const ExecOp& exec, const Op& op, int64_t cycle) {
  Warp& warp = *fragment.warp;
  const auto& list = warp.cta->program->program().operand_lists[op.operand_list];
  const MatrixProductForm form{.matrix = op.matrix,
                               .sum_type = op.modifiers.type,
                               .accumulate = true,
                               .saturate = op.modifiers.satfinite};
  const uint32_t sums = op.modifiers.type == ptx::Type::f16 ? 2 : 4,
                 right_count = op.matrix.row_bytes > 16 ? 2 : 1, left_count = 2 * right_count;
  const Slot* slot = list.data() + sums;
  std::array<std::array<uint32_t, kLanes>, 4> sum;
  std::array<uint32_t*, 4> sum_rows;
  for (uint32_t i = 0; i < sums; ++i) {
    std::copy_n(source32(fragment, slot[i]), kLanes, sum[i].begin());
    sum_rows[i] = sum[i].data();
  }
  slot += sums;
  alignas(64) std::array<uint8_t, size_t{16} * kOperandRowBytes> left{};
  for (uint32_t r = 0; r < left_count; ++r) {
    const uint32_t* source = source32(fragment, slot[r]);
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      std::memcpy(left.data() + (lane / 4 + r % 2 * 8) * kOperandRowBytes + lane % 4 * 4 + r / 2 * 16,
                  source + lane, 4);
  }
  slot += left_count;
  alignas(64) std::array<uint8_t, size_t{kColumns} * kOperandRowBytes> right{};
  std::array<const uint32_t*, 2> right_sources{};
  for (uint32_t r = 0; r < right_count; ++r) right_sources[r] = source32(fragment, slot[r]);
  right_rows(right_sources, right_count, right.data());
  multiply_warp(form, left.data(), MatrixRight(form, right.data()), sum_rows.data());
  const LaneFrame frame = lane_frame(fragment);
  for (uint32_t i = 0; i < sums; ++i)
    if (list[i].kind == Slot::Kind::reg)
      std::copy_n(sum[i].begin(), kLanes, frame.rows + size_t{list[i].index} * kLanes);
  // A quarter of the SM's multipliers, as if at the rate of wgmma.
  const double products = 16.0 * kColumns * op.matrix.row_bytes / 2;
  int64_t& free = tensor_free_[warp.scheduler];
  const int64_t start = std::max(cycle, free);
  const auto busy = static_cast<int64_t>(std::ceil(products * kSchedulers / parameters_.tensor_fma_per_clk));
  free = start + busy;
  tensor_busy_clk_ += static_cast<double>(busy) / kSchedulers;
  set_results(fragment, exec, free + parameters_.tensor_latency_clk);
}

// Lanes 8 i to 8 i + 7 name the rows of matrix i.
bool Sm::move_matrices(Fragment& fragment, const ExecOp& exec, const Op& op, int64_t cycle) {
  Cta& cta = *fragment.warp->cta;
  const bool loads = op.opcode == Opcode::ldmatrix;
  uint64_t address[kLanes];
  addresses(fragment, op.src[0], op.offset, address);
  std::array<uint8_t*, kLanes> row;
  uint32_t passes = 0;
  const uint32_t rows = op.matrix.n * kMatrixRows;
  for (uint32_t r = 0; r < rows; ++r) {
    const SharedPlace place = shared_place(cta, address[r], kMatrixRowBytes);
    if (place.cta != &cta || place.offset % kMatrixRowBytes != 0) {
      stop(fragment,
           fmt::format("{} row of a matrix at shared {:#x} (16 bytes)",
                       place.cta != &cta ? "out-of-bounds" : "misaligned", address[r]),
           r);
      return false;
    }
    row[r] = cta.shared.data() + place.offset;
    if (r % kMatrixRows == 0) passes += row_passes(address + r);
  }
  const LaneFrame frame = lane_frame(fragment);
  for (uint32_t i = 0; i < op.matrix.n; ++i) {
    const Slot& slot = loads ? op.dst[i] : op.src[i + 1];
    const uint32_t* source = loads ? nullptr : source32(fragment, slot);
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      const Pair pair = pair_of(lane, op.matrix.transpose_a);
      uint32_t word = loads ? 0 : source[lane];
      for (size_t half = 0; half < 2; ++half) {
        uint8_t* memory = row[i * kMatrixRows + pair.row[half]] + pair.byte[half];
        uint8_t* value = reinterpret_cast<uint8_t*>(&word) + half * 2;
        loads ? std::memcpy(value, memory, 2) : std::memcpy(memory, value, 2);
      }
      if (loads && slot.kind == Slot::Kind::reg) frame.rows[size_t{slot.index} * kLanes + lane] = word;
    }
  }
  if (!loads)
    for (uint32_t r = 0; r < rows; ++r)
      notify_shared_write(cta, static_cast<uint32_t>(row[r] - cta.shared.data()), kMatrixRowBytes, cycle,
                          fragment.warp->slot());
  const int64_t start =
      claim_lsu(fragment, cycle, std::max(passes, static_cast<uint32_t>(parameters_.lsu_interval_clk)));
  set_results(fragment, exec, start + passes - 1 + parameters_.shared_latency_clk);
  ++fragment.pc;
  return true;
}

}  // namespace ptxwire::sim
