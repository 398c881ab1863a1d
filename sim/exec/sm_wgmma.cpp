// wgmma: matrix products of four warps on the tensor cores, beside the warps.
//
// Each of the four warps issues a product for its own 16 rows. Once all four have, the product takes the
// tensor cores, one product after the other, and its values are computed: shared memory may be read at any
// time up to then, and nothing that the kernel may rightly do can tell when. Registers of A are taken when
// the warp issues. Registers of D count as in flight until the product is done, so a kernel that reads them
// without waiting gets right values late, which is what the assembler's own waits would give it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "sim/exec/matrix_product.hpp"
#include "sim/exec/sm.hpp"

namespace ptxwire::sim {

using ptx::MatrixElement;
using ptx::Op;
using ptx::Opcode;
using ptx::Slot;

namespace {

constexpr uint32_t kWarps = 4;  ///< of a warpgroup
constexpr uint32_t kAllWarps = 0xF;
constexpr uint32_t kLeftRegisters = 4;
constexpr uint64_t kTimedWait = UINT64_MAX;  ///< wait_detail: the end is known and scheduled
constexpr int64_t kTensorPending = kPending + static_cast<int64_t>(Wait::tensor_core);

MatrixProductForm form_of(const Op& op, bool accumulate) {
  return {.matrix = op.matrix,
          .sum_type = op.modifiers.type,
          .accumulate = accumulate,
          .saturate = op.modifiers.satfinite};
}

/// Registers of A to rows: lane l holds 4 bytes of row l / 4 (+ 8 in the odd registers) from byte 4 * (l % 4)
/// on (+ 16 in the last two), whatever the elements (PTX ISA 9.7.15.5, A fragments).
void left_rows(const uint32_t* registers, uint8_t* rows) {
  for (uint32_t r = 0; r < kLeftRegisters; ++r) {
    for (uint32_t lane = 0; lane < 32; ++lane) {
      const uint32_t row = lane / 4 + r % 2 * 8;
      const uint32_t byte = lane % 4 * 4 + r / 2 * 16;
      std::memcpy(rows + row * kOperandRowBytes + byte, registers + r * 32 + lane, 4);
    }
  }
}

}  // namespace

// Whether all lanes of the warp are here; if not, they are waited for, or will never come.
bool Sm::whole_warp(Fragment& fragment, uint32_t mask, int64_t cycle) {
  const Warp& warp = *fragment.warp;
  if (warp.alive != ~0U || mask != fragment.mask) {
    stop(fragment, "not all lanes of the warp execute this", static_cast<uint32_t>(std::countr_zero(mask)));
    return false;
  }
  if (mask == warp.alive) return true;
  wait_for_lanes(fragment, warp.alive, mask, cycle);
  return false;
}

// The warpgroup, once all lanes of the warp are here; null if they are not yet, or never will be.
Warpgroup* Sm::warpgroup_of(Fragment& fragment, uint32_t mask, int64_t cycle) {
  Warp& warp = *fragment.warp;
  Cta& cta = *warp.cta;
  const uint32_t group = warp.index / kWarps;
  if ((group + 1) * kWarps > cta.warps.size()) {
    stop(fragment, "the warp belongs to no whole warpgroup of four",
         static_cast<uint32_t>(std::countr_zero(mask)));
    return nullptr;
  }
  if (!whole_warp(fragment, mask, cycle)) return nullptr;
  if (cta.warpgroups.size() <= group) cta.warpgroups.resize(size_t{group} + 1);
  return &cta.warpgroups[group];
}

// False if a register of D waits for something else than a product: a load, say.
bool Sm::sums_ready(Fragment& fragment, const Op& op, const Warpgroup& group, int64_t& cycle) {
  const Warp& warp = *fragment.warp;
  const auto& list = warp.cta->program->program().operand_lists[op.operand_list];
  const uint32_t count = form_of(op, true).registers();
  const uint32_t base = fragment.frames.back().row_base;
  int64_t ready = cycle;
  for (uint32_t i = 0; i < count; ++i) {
    const int64_t row = warp.row_ready[base + list[i].index];
    if (row != kTensorPending && row > group.finished) ready = std::max(ready, row);
  }
  for (size_t i = 2 * size_t{count}; i < list.size(); ++i)
    if (list[i].kind == Slot::Kind::reg) ready = std::max(ready, warp.row_ready[base + list[i].index]);
  if (ready >= kPending) {
    fragment.phase = kWaitedForRoom;
    fragment.on_scoreboard = true;
    wait(fragment, static_cast<Wait>(ready - kPending), cycle);
    return false;
  }
  cycle = ready;
  return true;
}

bool Sm::matrix_product(Fragment& fragment, const Op& op, uint32_t mask, int64_t cycle) {
  Warpgroup* group = warpgroup_of(fragment, mask, cycle);
  if (group == nullptr || !sums_ready(fragment, op, *group, cycle)) return false;
  fragment.phase = kFresh;
  Warp& warp = *fragment.warp;
  const uint32_t rank = warp.index % kWarps;
  const uint64_t a = op.matrix.a_in_registers ? 0 : uniform_source(fragment, op.src[0], mask);
  const uint64_t b = uniform_source(fragment, op.src[1], mask);
  const Slot& scale = op.src[2];
  const uint32_t added = scale.kind == Slot::Kind::predicate
                             ? warp.predicates[fragment.frames.back().predicate_base + scale.index]
                             : static_cast<uint32_t>(-(uniform_source(fragment, scale, mask) & 1));
  const bool accumulate = ((added & 1) != 0) != scale.negated;
  const uint64_t number = warp.matrix_issued++;
  while (group->first_open + group->open.size() <= number) group->open.emplace_back();
  MatrixIssue& issue = group->open[number - group->first_open];
  if (issue.warps == 0) {
    issue.op = &op;
    issue.a = a;
    issue.b = b;
    issue.accumulate = accumulate;
  } else if (issue.op != &op || issue.a != a || issue.b != b || issue.accumulate != accumulate) {
    stop(fragment, "the four warps of a warpgroup issue different products", 0,
         "instruction, descriptors and scale-d must be the same in all of its threads");
    return false;
  }
  issue.warps |= 1U << rank;
  issue.cycle = std::max(issue.cycle, cycle);
  issue.row_base[rank] = fragment.frames.back().row_base;
  const auto& list = warp.cta->program->program().operand_lists[op.operand_list];
  const uint32_t count = form_of(op, true).registers();
  if (op.matrix.a_in_registers) {
    issue.left.resize(size_t{kWarps} * kLeftRegisters * 32);
    for (size_t r = 0; r < kLeftRegisters; ++r)
      std::copy_n(source32(fragment, list[2 * size_t{count} + r]), 32,
                  issue.left.data() + (rank * kLeftRegisters + r) * 32);
  }
  for (uint32_t i = 0; i < count; ++i) {
    const size_t row = size_t{issue.row_base[rank]} + list[i].index;
    warp.row_ready[row] = kTensorPending;
    warp.row_pending[row] |= mask;
  }
  ++fragment.pc;
  while (!group->open.empty() && group->open.front().warps == kAllWarps)
    if (!perform_product(fragment, *group)) return false;
  return true;
}

// The tensor cores of the four schedulers work on one product together. It takes them for its
// multiplications, or for as long as shared memory needs to bring its operands.
int64_t Sm::claim_tensor_cores(const Op& op, int64_t cycle) {
  constexpr double kHalvesOfDepth = kOperandRowBytes / 2.0;  // narrower elements go as much faster
  const double products = double{kOperandRows} * op.matrix.n * kHalvesOfDepth;
  const uint32_t shared_rows = op.matrix.n + (op.matrix.a_in_registers ? 0 : kOperandRows);
  const double busy = std::max(products / parameters_.tensor_fma_per_clk,
                               shared_rows * kOperandRowBytes / parameters_.tensor_shared_bytes_per_clk);
  const int64_t start = std::max(cycle, *std::max_element(tensor_free_.begin(), tensor_free_.end()));
  const auto clk = static_cast<int64_t>(std::ceil(busy));
  tensor_free_.fill(start + clk);
  tensor_busy_clk_ += static_cast<double>(clk);
  return start + clk + parameters_.tensor_latency_clk;
}

bool Sm::perform_product(Fragment& fragment, Warpgroup& group) {
  Cta& cta = *fragment.warp->cta;
  const MatrixIssue& issue = group.open.front();
  const Op& op = *issue.op;
  const MatrixProductForm form = form_of(op, issue.accumulate);
  const int64_t finish = claim_tensor_cores(op, issue.cycle);
  alignas(64) std::array<uint8_t, size_t{kOperandRows} * kOperandRowBytes> left;
  alignas(64) std::array<uint8_t, size_t{MatrixRight::kMaxColumns} * kOperandRowBytes> right;
  const auto gather = [&](uint64_t bits, bool transposed, uint32_t rows, uint8_t* out) {
    if (gather_operand(MatrixDescriptor::decode(bits), transposed, rows, cta.shared, out)) return true;
    stop(fragment, fmt::format("out-of-bounds access to shared memory by matrix descriptor {:#x}", bits), 0,
         fmt::format("the CTA has {} bytes", cta.shared.size()));
    return false;
  };
  if (!gather(issue.b, op.matrix.transpose_b, op.matrix.n, right.data())) return false;
  if (!op.matrix.a_in_registers && !gather(issue.a, op.matrix.transpose_a, kOperandRows, left.data()))
    return false;
  const MatrixRight spread(form, right.data());
  const auto& list = cta.program->program().operand_lists[op.operand_list];
  const uint32_t count = form.registers();
  const size_t first_warp = size_t{fragment.warp->index} / kWarps * kWarps;
  for (uint32_t rank = 0; rank < kWarps; ++rank) {
    Warp& warp = *cta.warps[first_warp + rank];
    uint8_t* rows = left.data() + size_t{rank} * 16 * kOperandRowBytes;
    if (op.matrix.a_in_registers) left_rows(issue.left.data() + size_t{rank} * kLeftRegisters * 32, rows);
    std::array<uint32_t*, MatrixRight::kMaxColumns / 2> registers;
    for (uint32_t i = 0; i < count; ++i) {
      const size_t row = size_t{issue.row_base[rank]} + list[i].index;
      registers[i] = warp.rows.data() + row * 32;
      warp.row_pending[row] &= ~warp.existing;
      warp.row_ready[row] = finish;
    }
    multiply_warp(form, rows, spread, registers.data());
  }
  const int64_t arrival = issue.cycle;
  group.done(finish);
  for (size_t w = first_warp; w < first_warp + kWarps; ++w) {
    for (Fragment* waiter : cta.warps[w]->fragments) {
      const bool waits = waiter->waiting && waiter->reason == Wait::tensor_core;
      if (waits && waiter->wait_detail != kTimedWait) resume(*waiter, arrival);
    }
  }
  return true;
}

// A group is the products up to a number. The end of a product is known once all four warps issued it.
bool Sm::matrix_control(Fragment& fragment, const Op& op, uint32_t mask, int64_t cycle) {
  Warpgroup* group = warpgroup_of(fragment, mask, cycle);
  if (group == nullptr) return false;
  Warp& warp = *fragment.warp;
  if (op.opcode == Opcode::wgmma_commit_group) warp.matrix_groups.push_back(warp.matrix_issued);
  if (op.opcode != Opcode::wgmma_wait_group) {
    ++fragment.pc;
    return true;
  }
  const uint64_t allowed = uniform_source(fragment, op.src[0], fragment.mask);
  if (warp.matrix_groups.size() > allowed) {
    const size_t done = warp.matrix_groups.size() - allowed;
    const uint64_t products = warp.matrix_groups[done - 1];  // all before this number
    if (products > group->first_open) {
      fragment.phase = kWaitedForCopies;
      fragment.wait_detail = products;
      wait(fragment, Wait::tensor_core, cycle);
      return false;
    }
    warp.matrix_groups.erase(warp.matrix_groups.begin(),
                             warp.matrix_groups.begin() + static_cast<std::ptrdiff_t>(done));
    cycle = std::max(cycle, group->finish_of(products));
  }
  fragment.phase = kFresh;
  ++fragment.pc;
  if (cycle <= fragment.cycle) return true;
  fragment.wait_detail = kTimedWait;
  wait(fragment, Wait::tensor_core, fragment.cycle);
  schedule(fragment, cycle);
  return false;
}

}  // namespace ptxwire::sim
