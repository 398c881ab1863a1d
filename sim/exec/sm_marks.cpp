// Elided payload on its way: bytes that are not stored are read as zeros, so nothing may depend on them. A
// mark follows them through registers (lane by lane), shared memory and bulk copies; where one would reach a
// predicate, an address or memory that is kept, the run stops and says so. Parameters of calls and local
// memory carry no marks.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "sim/exec/shared_place.hpp"
#include "sim/exec/sm.hpp"

namespace ptxwire::sim {

using ptx::Op;
using ptx::Slot;

namespace {

constexpr uint64_t kGranule = 16;  ///< bytes of shared memory with a mark of their own
constexpr std::string_view kAddress = "reaches an address", kKept = "is stored where bytes are kept";

}  // namespace

/// Lanes whose register holds elided payload.
uint32_t Sm::marks_of(const Fragment& fragment, const Slot& slot) {
  const std::vector<uint32_t>& marks = fragment.warp->marks;
  if (slot.kind != Slot::Kind::reg || marks.empty()) return 0;
  return marks[size_t{fragment.frames.back().row_base} + slot.index];
}

/// Of the lanes in `mask` those in `marked` get a mark, the others lose it.
void Sm::mark(const Fragment& fragment, const Slot& slot, uint32_t mask, uint32_t marked) {
  if (slot.kind != Slot::Kind::reg) return;
  std::vector<uint32_t>& marks = fragment.warp->marks;
  if (marks.empty() && (marked & mask) == 0) return;
  marks.resize(fragment.warp->row_ready.size());
  uint32_t& row = marks[size_t{fragment.frames.back().row_base} + slot.index];
  row = (row & ~mask) | (marked & mask);
}

bool Sm::stop_marked(const Fragment& fragment, uint32_t lanes, std::string_view what) {
  stop(fragment, fmt::format("elided payload {}", what), static_cast<uint32_t>(std::countr_zero(lanes)),
       "its bytes are not stored in this run, so nothing may depend on them: run without elision");
  return false;
}

bool Sm::shared_marked(const Cta& cta, uint64_t offset, uint64_t bytes) {
  for (uint64_t at = offset / kGranule; at <= (offset + bytes - 1) / kGranule; ++at)
    if (at < cta.shared_marks.size() && cta.shared_marks[at] != 0) return true;
  return false;
}

void Sm::mark_shared(Cta& cta, uint64_t offset, uint64_t bytes, bool marked) {
  const uint64_t end = (offset + bytes + kGranule - 1) / kGranule;
  if (cta.shared_marks.size() < end) {
    if (!marked) return;
    cta.shared_marks.resize(cta.shared.size() / kGranule + 1);
  }
  for (uint64_t at = offset / kGranule; at < end; ++at) cta.shared_marks[at] = marked ? 1 : 0;
}

/// Before an instruction is executed: moves marks from what it reads to what it writes. False: the run stops.
bool Sm::follow_marks(const Fragment& fragment, const ExecOp& exec, const Op& op, uint32_t mask) {
  uint32_t marked = 0;
  switch (exec.kind) {
    case ExecKind::load:
    case ExecKind::store:
    case ExecKind::atomic:
    case ExecKind::reduction:
      return follow_access(fragment, exec, op, mask);
    case ExecKind::bulk_copy:
    case ExecKind::cp_async:
    case ExecKind::tensor_copy:
    case ExecKind::mbarrier:
    case ExecKind::branch_indexed:
      for (const Slot& slot : op.src) marked |= marks_of(fragment, slot) & mask;
      return marked == 0 || stop_marked(fragment, marked, kAddress);
    case ExecKind::warp_exchange:
      marked = marks_of(fragment, op.src[0]) & fragment.mask;
      if (op.opcode == ptx::Opcode::shfl) {
        mark(fragment, op.dst[0], mask, marked != 0 ? mask : 0);  // whichever lane it comes from
        return true;
      }
      if ((marked & mask) != 0) return stop_marked(fragment, marked & mask, "is compared between lanes");
      for (const Slot& slot : op.dst) mark(fragment, slot, mask, 0);
      return true;
    default:
      break;
  }
  for (const Slot& slot : op.src) marked |= marks_of(fragment, slot) & mask;
  for (const Slot& slot : op.dst) {
    if (marked != 0 && slot.kind == Slot::Kind::predicate)
      return stop_marked(fragment, marked, "reaches a predicate");
    mark(fragment, slot, mask, marked);
  }
  return true;
}

bool Sm::follow_access(const Fragment& fragment, const ExecOp& exec, const Op& op, uint32_t mask) {
  if (const uint32_t lanes = marks_of(fragment, op.src[0]) & mask; lanes != 0)
    return stop_marked(fragment, lanes, kAddress);
  uint64_t address[32];
  addresses(fragment, op.src[0], op.offset, address);
  const uint32_t lane_bytes = type_bytes(op.modifiers.type) * op.modifiers.vector;
  const bool declared_shared = op.modifiers.space == ptx::Space::shared;
  Cta& cta = *fragment.warp->cta;
  uint32_t elided = 0, in_shared = 0;  // lanes whose place is elided (global) or marked (shared)
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const uint32_t lane = m & (~m + 1);
    const uint64_t at = address[std::countr_zero(m)];
    if (at >> kGpuShift != 0) {
      const MemorySpace* space = device_.space(home_of(at));
      if (space != nullptr && space->is_elided(at, lane_bytes)) elided |= lane;
    } else if (declared_shared || window_of(at) == Window::shared) {
      in_shared |= lane;
      const SharedPlace place = shared_place(cta, at, lane_bytes);
      if (place.cta != nullptr && shared_marked(*place.cta, place.offset, lane_bytes)) elided |= lane;
    }
  }
  if (exec.kind == ExecKind::load) {
    for (uint32_t v = 0; v < op.modifiers.vector && v < op.dst.size(); ++v)
      mark(fragment, op.dst[v], mask, elided);
    return true;
  }
  uint32_t data = 0;
  for (size_t i = 1; i + 1 < op.src.size(); ++i) data |= marks_of(fragment, op.src[i]) & mask;
  for (uint32_t m = in_shared; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(m));
    const SharedPlace place = shared_place(cta, address[lane], lane_bytes);
    if (place.cta != nullptr) mark_shared(*place.cta, place.offset, lane_bytes, (data >> lane & 1U) != 0);
  }
  if (const uint32_t lost = data & ~elided & ~in_shared; lost != 0) return stop_marked(fragment, lost, kKept);
  if (exec.kind == ExecKind::atomic) mark(fragment, op.dst[0], mask, elided);
  return true;
}

/// A bulk copy between shared and global memory, about to start.
bool Sm::follow_bulk(const Fragment& fragment, const BulkCopy& copy, bool to_global) {
  const MemorySpace& space = *device_.space(home_of(copy.global_address));
  for (uint64_t offset = 0; offset < copy.bytes; offset += kGranule) {
    const uint64_t bytes = std::min<uint64_t>(kGranule, copy.bytes - offset);
    const bool elided = space.is_elided(copy.global_address + offset, bytes);
    if (!to_global)
      mark_shared(*copy.shared_cta, copy.shared_offset + offset, bytes, elided);
    else if (!elided && shared_marked(*copy.shared_cta, copy.shared_offset + offset, bytes))
      return stop_marked(fragment, 1U << copy.lane, kKept);
  }
  return true;
}

}  // namespace ptxwire::sim
