#include "ptx_frontend/lower/constant_pool.hpp"

namespace ptxwire::ptx {

Slot ConstantPool::slot(const Constant& constant) {
  const auto [place, fresh] = index_.try_emplace(constant, static_cast<uint32_t>(constants_.size()));
  if (fresh) constants_.push_back(constant);
  Slot slot;
  slot.kind = Slot::Kind::constant;
  slot.index = static_cast<uint16_t>(place->second);
  return slot;
}

}  // namespace ptxwire::ptx
