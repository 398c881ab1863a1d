// How long L2 is asked to keep a line: from a createpolicy operand or from the modifiers of an instruction.
#pragma once

#include <cstdint>

#include "models/base/transaction.hpp"
#include "ptx_frontend/program.hpp"

namespace ptxwire::sim {

/// Of a cache policy as `createpolicy` makes it (lanes/logic_ops.inc).
inline models::L2Hint policy_hint(uint64_t policy) {
  models::L2Hint hint;
  switch (policy >> 56 & 0xF) {
    case 2:
      hint.primary = models::L2Priority::first;
      break;
    case 4:
      hint.primary = models::L2Priority::last;
      break;
    case 6:
      hint.primary = models::L2Priority::unchanged;
      break;
    default:
      break;
  }
  // An evict_normal policy is also written 0x1000000000000000, with no share: it then holds for every line.
  if (hint.primary != models::L2Priority::normal)
    hint.sixteenths = static_cast<uint8_t>((policy >> 52 & 0xF) + 1);
  if ((policy >> 48 & 1) != 0) hint.others = models::L2Priority::first;
  return hint;
}

/// Of `.L2::evict_*`, else `.L1::evict_*`, else `.cs`.
inline models::L2Hint modifier_hint(const ptx::Modifiers& modifiers) {
  const ptx::EvictPriority priority = modifiers.l2 != ptx::EvictPriority::none ? modifiers.l2 : modifiers.l1;
  switch (priority) {
    case ptx::EvictPriority::evict_first:
      return {models::L2Priority::first};
    case ptx::EvictPriority::evict_last:
      return {models::L2Priority::last};
    case ptx::EvictPriority::evict_unchanged:
      return {models::L2Priority::unchanged};
    default:
      return {modifiers.cache == ptx::CacheOp::cs ? models::L2Priority::first : models::L2Priority::normal};
  }
}

}  // namespace ptxwire::sim
