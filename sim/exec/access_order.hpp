// What the order of an instruction asks of earlier and later accesses.
#pragma once

#include "ptx_frontend/program.hpp"

namespace ptxwire::sim {

inline bool is_weak(const ptx::Op& op) {
  return op.modifiers.order == ptx::Order::none || op.modifiers.order == ptx::Order::weak;
}

/// A load that may be answered by L1.
inline bool may_read_l1(const ptx::Op& op) {
  return is_weak(op) && op.modifiers.cache != ptx::CacheOp::cg && op.modifiers.cache != ptx::CacheOp::cv;
}

inline bool acquires(const ptx::Op& op) {
  const ptx::Order order = op.modifiers.order;
  return order == ptx::Order::acquire || order == ptx::Order::acq_rel || order == ptx::Order::sc;
}

inline bool releases(const ptx::Op& op) {
  const ptx::Order order = op.modifiers.order;
  return op.opcode != ptx::Opcode::ld &&
         (order == ptx::Order::release || order == ptx::Order::acq_rel || order == ptx::Order::sc);
}

}  // namespace ptxwire::sim
