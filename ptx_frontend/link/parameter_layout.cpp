#include "ptx_frontend/link/parameter_layout.hpp"

#include <algorithm>
#include <string>

namespace ptxwire::ptx {
namespace {

ProgramParameter place(const Symbol& symbol, uint32_t& end) {
  ProgramParameter item;
  item.align = alignment_of(symbol);
  item.bytes = static_cast<uint32_t>(symbol.bytes());
  item.offset = static_cast<uint32_t>(align_up(end, item.align));
  item.name = std::string(symbol.name);
  end = item.offset + item.bytes;
  return item;
}

}  // namespace

uint32_t alignment_of(const Symbol& symbol) {
  const uint32_t natural = std::max(1U, type_bytes(symbol.type) * symbol.vector);
  return symbol.align != 0 && !symbol.pointer ? symbol.align : natural;
}

ParameterLayout entry_parameters(const Function& function) {
  ParameterLayout layout;
  for (const uint32_t index : function.parameters)
    layout.items.push_back(place(function.symbols[index], layout.bytes));
  return layout;
}

CallLayout call_layout(const Function& function) {
  CallLayout layout;
  for (const uint32_t index : function.returns)
    layout.returns.push_back(place(function.symbols[index], layout.bytes));
  for (const uint32_t index : function.parameters)
    layout.parameters.push_back(place(function.symbols[index], layout.bytes));
  return layout;
}

CallLayout prototype_layout(const Symbol& prototype) {
  CallLayout layout;
  for (const Symbol& symbol : prototype.prototype_returns)
    layout.returns.push_back(place(symbol, layout.bytes));
  for (const Symbol& symbol : prototype.prototype_parameters)
    layout.parameters.push_back(place(symbol, layout.bytes));
  return layout;
}

}  // namespace ptxwire::ptx
