// Calls and returns: register windows, local frames, parameters copied between them.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "sim/exec/sm.hpp"

namespace ptxwire::sim {

using ptx::Op;

namespace {

// Per thread. Endless recursion must end before the memory of the machine that simulates does: 64 KiB are
// 2,048 calls of small functions.
constexpr uint64_t kLocalBytes = 1U << 20, kSavedBytes = 1U << 16;

/// Copies bytes within the local memory of each lane: from one frame to another.
void move_parameter(Warp& warp, uint32_t lanes, uint32_t from, uint32_t to, uint32_t bytes) {
  for (uint32_t m = lanes; m != 0; m &= m - 1) {
    uint8_t* local =
        warp.local.data() + size_t{static_cast<uint32_t>(std::countr_zero(m))} * warp.local_bytes;
    std::memcpy(local + to, local + from, bytes);
  }
}

}  // namespace

// Where the callee's register rows begin. Lanes of a warp that are in the same function share its rows, so
// that they may exchange values there; different functions give rows other widths, so theirs must not overlap
// while any lane is in them or a load is on its way to them.
uint32_t Sm::place_rows(const Fragment& fragment, uint32_t function) {
  const Warp& warp = *fragment.warp;
  const std::vector<ptx::ProgramFunction>& functions = warp.cta->program->program().functions;
  const CallFrame& caller = fragment.frames.back();
  const uint32_t rows = functions[function].register_rows;
  const uint32_t first = (caller.row_base + functions[caller.function].register_rows + 3) / 4 * 4;
  uint32_t shared = UINT32_MAX;
  for (const Fragment* other : warp.fragments)
    for (const CallFrame& frame : other->frames)
      if (other != &fragment && frame.function == function && frame.row_base >= first)
        shared = std::min(shared, frame.row_base);
  if (shared != UINT32_MAX) return shared;
  uint32_t base = first;
  for (bool moved = true; moved;) {
    moved = false;
    for (const Fragment* other : warp.fragments) {
      for (const CallFrame& frame : other->frames) {
        const uint32_t end = frame.row_base + functions[frame.function].register_rows;
        if (other == &fragment || frame.row_base >= base + rows || end <= base) continue;
        base = (end + 3) / 4 * 4;
        moved = true;
      }
    }
    for (uint32_t row = base; row < std::min<size_t>(base + rows, warp.row_pending.size()); ++row) {
      if ((warp.row_pending[row] & ~fragment.mask) == 0) continue;
      base = (row + 4) / 4 * 4;
      moved = true;
    }
  }
  return base;
}

void Sm::reserve_frame(Warp& warp, const CallFrame& frame, const ptx::ProgramFunction& callee) {
  const size_t rows = size_t{frame.row_base} + callee.register_rows;
  if (warp.row_ready.size() < rows) {
    warp.rows.resize(rows);
    warp.row_ready.resize(rows);
    warp.row_pending.resize(rows);
  }
  const size_t predicates = size_t{frame.predicate_base} + callee.predicates;
  if (warp.predicates.size() < predicates) {
    warp.predicates.resize(predicates);
    warp.predicate_ready.resize(predicates);
  }
  if (warp.local_bytes >= frame.local_base + callee.frame_bytes) return;
  const uint32_t bytes = std::max(frame.local_base + callee.frame_bytes, warp.local_bytes * 2);
  std::pmr::vector<uint8_t> grown(size_t{bytes} * 32, warp.local.get_allocator());
  for (uint32_t lane = 0; lane < 32; ++lane)
    if (warp.local_bytes != 0)
      std::memcpy(&grown[size_t{lane} * bytes], &warp.local[size_t{lane} * warp.local_bytes],
                  warp.local_bytes);
  warp.local = std::move(grown);
  warp.local_bytes = bytes;
}

bool Sm::call(Fragment& fragment, const Op& op, uint32_t mask, int64_t cycle) {
  Warp& warp = *fragment.warp;
  const ptx::Program& program = warp.cta->program->program();
  const ptx::CallSite& site = program.calls[op.target];
  if (!site.intrinsic.empty()) {
    intrinsic(fragment, site, mask);
    if (device_.fault_seen()) return false;
    ++fragment.pc;
    return true;
  }
  uint32_t function = site.function;
  uint32_t calling = mask;
  if (function == UINT32_MAX) {
    const uint64_t handle = uniform_source(fragment, op.src[0], mask);
    function = warp.cta->program->function_of_handle(handle);
    if (function == UINT32_MAX) {
      stop(fragment, fmt::format("indirect call to {:#x}, which is no function", handle),
           static_cast<uint32_t>(std::countr_zero(mask)));
      return false;
    }
    const uint64_t* handles = source64(fragment, op.src[0]);
    for (uint32_t m = mask; m != 0; m &= m - 1)
      if (handles[std::countr_zero(m)] != handle) calling &= ~(m & (~m + 1));
  }
  join_at(fragment, fragment.pc + 1);
  split_around(fragment, calling, mask);
  const ptx::ProgramFunction& callee = program.functions[function];
  const CallFrame caller = fragment.frames.back();
  CallFrame frame;
  frame.return_pc = fragment.pc + 1;
  frame.call_site = op.target;
  frame.function = function;
  frame.row_base = place_rows(fragment, function);
  frame.predicate_base = caller.predicate_base + program.functions[caller.function].predicates;
  frame.local_base = (caller.local_base + program.functions[caller.function].frame_bytes + 15) / 16 * 16;
  // On hardware the stack also holds a return address and the saved registers of every caller.
  const uint64_t saved = 16 * fragment.frames.size() + uint64_t{frame.row_base} * 4;
  if (frame.local_base + callee.frame_bytes > kLocalBytes || saved > kSavedBytes) {
    stop(fragment,
         fmt::format(
             "the call stack of a thread is too deep: {} calls with {} bytes of local memory and about {} "
             "of saved registers",
             fragment.frames.size(), frame.local_base + callee.frame_bytes, saved),
         static_cast<uint32_t>(std::countr_zero(mask)));
    return false;
  }
  reserve_frame(warp, frame, callee);
  for (const ptx::ParameterCopy& copy : site.arguments)
    move_parameter(warp, calling, caller.local_base + copy.caller_offset,
                   frame.local_base + copy.callee_offset, copy.bytes);
  fragment.frames.push_back(frame);
  fragment.pc = callee.entry_pc;
  fragment.cycle = cycle + 1 + parameters_.branch_taken_clk;
  return true;
}

void Sm::do_return(Fragment& fragment, uint32_t mask, int64_t cycle) {
  if (fragment.frames.size() == 1) {
    exit_lanes(fragment, mask, cycle);
    return;
  }
  Fragment* staying = nullptr;
  if (mask != fragment.mask) {
    staying = &split(fragment, fragment.mask & ~mask);
    ++staying->pc;
  }
  Warp& warp = *fragment.warp;
  const auto depth = static_cast<uint32_t>(fragment.frames.size());
  // Joins of this call do not see these lanes again.
  Join* outer = leave_joins(fragment.join, mask, depth, cycle);
  set_join(fragment, outer);
  const CallFrame frame = fragment.frames.back();
  fragment.frames.pop_back();
  const CallFrame& caller = fragment.frames.back();
  const ptx::CallSite& site = warp.cta->program->program().calls[frame.call_site];
  for (const ptx::ParameterCopy& copy : site.results)
    move_parameter(warp, mask, frame.local_base + copy.callee_offset, caller.local_base + copy.caller_offset,
                   copy.bytes);
  fragment.pc = frame.return_pc;
  fragment.cycle += parameters_.branch_taken_clk;
  if (staying != nullptr) schedule(*staying, fragment.cycle);
}

}  // namespace ptxwire::sim
