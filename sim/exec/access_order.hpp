// What the order of an instruction asks of earlier and later accesses.
#pragma once

#include "ptx_frontend/program.hpp"

namespace ptxwire::sim {

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
