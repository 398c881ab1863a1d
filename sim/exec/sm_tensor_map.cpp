// Changing tensor maps on the device: tensormap.replace and tensormap.cp_fenceproxy. Both act at once and
// cost what their issue and their fence cost; the 128 bytes are not simulated as traffic.
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "sim/exec/shared_place.hpp"
#include "sim/exec/sm.hpp"

namespace ptxwire::sim {

using ptx::Op;
using ptx::Opcode;
using ptx::Space;

// 128 bytes of shared or global memory, or null after an error.
uint8_t* Sm::tensor_map_bytes(Fragment& fragment, uint64_t address, uint32_t lane, bool in_shared) {
  Cta& cta = *fragment.warp->cta;
  if (in_shared || window_of(address) == Window::shared) {
    const SharedPlace place = shared_place(cta, address, kTensorMapBytes);
    if (place.cta == &cta && place.offset % kTensorMapAlign == 0) return cta.shared.data() + place.offset;
  } else if (window_of(address) == Window::device && address % kTensorMapAlign == 0) {
    const MemorySpace* space = device_.space(home_of(address));
    const bool own = home_of(address) == device_.id().value;
    if (uint8_t* bytes = space != nullptr && own ? space->resolve(address, kTensorMapBytes) : nullptr) {
      l1_.drop(address, kTensorMapBytes);
      return bytes;
    }
  }
  stop(fragment,
       fmt::format("tensor map at {:#x}: not 128 bytes of this GPU's shared or global memory, aligned to {}",
                   address, kTensorMapAlign),
       lane);
  return nullptr;
}

bool Sm::tensor_map_change(Fragment& fragment, const Op& op, uint32_t mask, int64_t cycle) {
  uint64_t target[32];
  addresses(fragment, op.src[0], op.offset, target);
  const bool copies = op.opcode == Opcode::tensormap_copy;
  if (copies) {  // by the warp as a whole
    if (!whole_warp(fragment, mask, cycle)) return false;
    mask &= ~mask + 1;
  }
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(m));
    uint8_t* bytes = tensor_map_bytes(fragment, target[lane], lane, op.modifiers.space == Space::shared);
    if (bytes == nullptr) return false;
    if (copies) {
      uint64_t source[32];
      addresses(fragment, op.src[1], op.offset2, source);
      const uint8_t* from = tensor_map_bytes(fragment, source[lane], lane, true);
      if (from == nullptr) return false;
      std::memcpy(bytes, from, kTensorMapBytes);
      device_.notify_write(target[lane], kTensorMapBytes, device_.process().now());
      continue;
    }
    const uint64_t value = uniform_source(fragment, op.src[1], 1U << lane);
    const uint32_t ordinal =
        op.src[2].present() ? static_cast<uint32_t>(uniform_source(fragment, op.src[2], 1U << lane)) : 0;
    const auto changed = replace_tensor_field(std::span<uint8_t, kTensorMapBytes>(bytes, kTensorMapBytes),
                                              op.tensor_field, ordinal, value);
    if (!changed) {
      stop(fragment, changed.error().message, lane);
      return false;
    }
  }
  if (copies)
    fragment.cycle += op.modifiers.scope == ptx::Scope::cta ? parameters_.fence_cta_clk : fence_cycles(op);
  ++fragment.pc;
  return true;
}

}  // namespace ptxwire::sim
