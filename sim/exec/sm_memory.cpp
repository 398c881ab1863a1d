// Loads, stores, atomics: what a release waits for, and which kind of memory each lane means.
#include <fmt/format.h>

#include <bit>

#include "sim/exec/access_order.hpp"
#include "sim/exec/sm.hpp"

namespace ptxwire::sim {

using ptx::Op;
using ptx::Opcode;
using ptx::Order;
using ptx::Scope;

// What a release costs beyond waiting for acknowledgements.
uint32_t Sm::fence_cycles(const Op& op) const {
  const Scope scope = op.modifiers.scope;
  const bool device = scope == Scope::gpu || scope == Scope::cluster || op.opcode == Opcode::barrier_cluster;
  return device ? parameters_.fence_gpu_clk : parameters_.fence_sys_clk;
}

bool Sm::release_first(Fragment& fragment, const Op& op, int64_t cycle) {
  if (fragment.phase != kFresh) return true;
  Cta& cta = *fragment.warp->cta;
  if (op.modifiers.scope == Scope::cta) {
    fragment.cycle += parameters_.fence_cta_clk;
    return true;
  }
  const bool acquire_only = op.opcode == Opcode::fence && op.modifiers.order == Order::acquire;
  fragment.phase = kReleased;
  if (acquire_only || cta.stores.drained()) {
    wait(fragment, Wait::release_fence, cycle);
    schedule(fragment, cycle + fence_cycles(op));
    return false;
  }
  fragment.wait_detail = cta.stores.close();
  cta.release_waiting.push_back(&fragment);
  wait(fragment, Wait::release_fence, cycle);
  return false;
}

void Sm::wake_release_waiters(Cta& cta, int64_t cycle) {
  for (size_t i = 0; i < cta.release_waiting.size();) {
    Fragment& fragment = *cta.release_waiting[i];
    if (!cta.stores.passed(fragment.wait_detail)) {
      ++i;
      continue;
    }
    cta.release_waiting.erase(cta.release_waiting.begin() + static_cast<std::ptrdiff_t>(i));
    resume(fragment, cycle + fence_cycles(cta.program->program().code[fragment.pc]));
  }
}

bool Sm::memory_access(Fragment& fragment, const ExecOp& exec, const Op& op, uint32_t mask, int64_t cycle) {
  if (releases(op) && !release_first(fragment, op, cycle)) return false;
  uint64_t address[32];
  addresses(fragment, op.src[0], op.offset, address);
  switch (op.modifiers.space) {
    case ptx::Space::shared:
      return access_near(fragment, exec, op, Window::shared, mask, address, cycle);
    case ptx::Space::constant:
      return access_near(fragment, exec, op, Window::constant, mask, address, cycle);
    case ptx::Space::local:
      if (op.frame_relative)
        for (uint64_t& a : address) a += fragment.frames.back().local_base;
      return access_near(fragment, exec, op, Window::local, mask, address, cycle);
    case ptx::Space::param:
      return access_near(fragment, exec, op, Window::parameter, mask, address, cycle);
    case ptx::Space::global:
      return access_device(fragment, exec, op, mask, address, cycle);
    default:
      return access_generic(fragment, exec, op, mask, address, cycle);
  }
}

// Lanes of a generic access may lie in different windows: near ones are done first, device memory last.
bool Sm::access_generic(Fragment& fragment, const ExecOp& exec, const Op& op, uint32_t mask,
                        const uint64_t* address, int64_t cycle) {
  uint32_t device = 0;
  for (uint32_t m = mask; m != 0; m &= m - 1)
    if (address[std::countr_zero(m)] >> kGpuShift != 0) device |= m & (~m + 1);
  if (device == mask) return access_device(fragment, exec, op, device, address, cycle);
  // The instruction comes here again if its device lanes had to wait for room: an atomic of the near lanes
  // must not be done twice.
  uint32_t near = fragment.phase == kNearLanesDone ? 0 : mask & ~device;
  while (near != 0) {
    const Window window = window_of(address[std::countr_zero(near)]);
    uint32_t same = 0;
    uint64_t offset[32] = {};
    for (uint32_t m = near; m != 0; m &= m - 1) {
      const int lane = std::countr_zero(m);
      if (window_of(address[lane]) != window) continue;
      same |= m & (~m + 1);
      offset[lane] = address[lane] & (kWindowBytes - 1);
    }
    near &= ~same;
    if (window == Window::unmapped) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(same));
      stop(fragment,
           fmt::format("access to unmapped address {:#x} ({} bytes)", address[lane],
                       type_bytes(op.modifiers.type) * op.modifiers.vector),
           lane);
      return false;
    }
    const bool last = near == 0 && device == 0;
    if (!access_near(fragment, exec, op, window, same, offset, cycle)) return false;
    if (!last) --fragment.pc;
  }
  if (device == 0) return true;
  fragment.phase = kNearLanesDone;
  return access_device(fragment, exec, op, device, address, cycle);
}

}  // namespace ptxwire::sim
