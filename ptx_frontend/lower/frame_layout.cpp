#include "ptx_frontend/lower/frame_layout.hpp"

#include <algorithm>

namespace ptxwire::ptx {

FrameLayout::FrameLayout(const Function& function) : offsets_(function.symbols.size(), kNoOffset) {
  if (!function.is_entry) place_interface(function);
  for (uint32_t s = 0; s < function.symbols.size(); ++s) {
    const Symbol& symbol = function.symbols[s];
    if (symbol.kind != SymbolKind::variable || symbol.space != Space::local) continue;
    offsets_[s] = add_temporary(static_cast<uint32_t>(symbol.bytes()), alignment_of(symbol));
  }
  place_call_parameters(function);
}

void FrameLayout::place_interface(const Function& function) {
  interface_ = call_layout(function);
  for (size_t i = 0; i < function.returns.size(); ++i)
    offsets_[function.returns[i]] = interface_.returns[i].offset;
  for (size_t i = 0; i < function.parameters.size(); ++i)
    offsets_[function.parameters[i]] = interface_.parameters[i].offset;
  bytes_ = interface_.bytes;
}

void FrameLayout::place_call_parameters(const Function& function) {
  std::vector<bool> own(function.symbols.size(), false);  // the function's own interface
  for (const uint32_t s : function.returns) own[s] = true;
  for (const uint32_t s : function.parameters) own[s] = true;
  // Scopes come before the scopes inside them, and symbols in source order; `end` grows while a scope is
  // filled.
  std::vector<uint64_t> end(std::max<size_t>(function.scopes.size(), 1), 0);
  std::vector<std::vector<uint32_t>> members(end.size());
  for (uint32_t s = 0; s < function.symbols.size(); ++s)
    if (function.symbols[s].space == Space::param && !own[s]) members[function.symbols[s].scope].push_back(s);
  uint64_t total = bytes_;
  for (size_t scope = 0; scope < end.size(); ++scope) {
    const uint32_t parent = scope < function.scopes.size() ? function.scopes[scope].parent : UINT32_MAX;
    end[scope] = parent < scope ? end[parent] : bytes_;
    for (const uint32_t s : members[scope]) {
      const uint64_t offset = align_up(end[scope], alignment_of(function.symbols[s]));
      offsets_[s] = static_cast<uint32_t>(offset);
      end[scope] = offset + function.symbols[s].bytes();
    }
    total = std::max(total, end[scope]);
  }
  bytes_ = total;
}

uint32_t FrameLayout::add_temporary(uint32_t bytes, uint32_t align) {
  const uint64_t offset = align_up(bytes_, align);
  bytes_ = offset + bytes;
  return static_cast<uint32_t>(offset);
}

}  // namespace ptxwire::ptx
