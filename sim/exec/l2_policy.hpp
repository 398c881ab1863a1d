// How long L2 is asked to keep a line: from a createpolicy operand or from the modifiers of an instruction.
#pragma once

#include <cstdint>

#include "models/base/transaction.hpp"
#include "ptx_frontend/program.hpp"

namespace ptxwire::sim {

/// Of a cache policy as `createpolicy` makes it (lanes/logic_ops.inc). Not modelled: the share of the
/// accesses that get the other priority.
inline models::L2Priority policy_priority(uint64_t policy) {
  switch (policy >> 56 & 0xF) {
    case 2:
      return models::L2Priority::first;
    case 4:
      return models::L2Priority::last;
    case 6:
      return models::L2Priority::unchanged;
    default:
      return models::L2Priority::normal;
  }
}

/// Of `.L2::evict_*`, else `.L1::evict_*`, else `.cs`.
inline models::L2Priority modifier_priority(const ptx::Modifiers& modifiers) {
  const ptx::EvictPriority priority = modifiers.l2 != ptx::EvictPriority::none ? modifiers.l2 : modifiers.l1;
  switch (priority) {
    case ptx::EvictPriority::evict_first:
      return models::L2Priority::first;
    case ptx::EvictPriority::evict_last:
      return models::L2Priority::last;
    case ptx::EvictPriority::evict_unchanged:
      return models::L2Priority::unchanged;
    default:
      return modifiers.cache == ptx::CacheOp::cs ? models::L2Priority::first : models::L2Priority::normal;
  }
}

}  // namespace ptxwire::sim
