#include "ptx_frontend/link/linker.hpp"

namespace ptxwire::ptx {
namespace {

void store(std::vector<uint8_t>& data, uint64_t offset, uint64_t value, uint8_t bytes) {
  if (data.size() < offset + bytes) data.resize(offset + bytes, 0);
  for (uint8_t i = 0; i < bytes; ++i) data[offset + i] = static_cast<uint8_t>(value >> (8 * i));
}

}  // namespace

std::optional<Error> fill_initial_data(LinkedImage& image, uint32_t module, const Symbol& symbol,
                                       uint32_t index) {
  ProgramVariable& variable = image.variables[index];
  const Module& source = *image.modules[module];
  for (const InitialiserItem& item : symbol.initialiser) {
    if (item.offset + item.bytes > variable.bytes)
      return link_error(source, symbol.range,
                        "initialiser of '" + variable.name + "' is longer than its " +
                            std::to_string(variable.bytes) + " bytes");
    if (item.name.empty()) {
      store(variable.data, item.offset, item.value, item.bytes);
      continue;
    }
    const SymbolTarget target =
        item.symbol == kNoSymbol ? SymbolTarget{} : image.targets[module][item.symbol & ~kModuleSymbolBit];
    ProgramVariable::Fixup fixup{};
    fixup.offset = item.offset;
    fixup.symbol = target.index;
    fixup.addend = static_cast<int64_t>(item.value);
    fixup.bytes = item.bytes;
    fixup.shift = item.mask_shift;
    fixup.generic = item.generic;
    if (target.kind == SymbolTarget::Kind::function) {
      fixup.kind = RelocationKind::function;
      image.address_taken.push_back(target.index);
    } else if (target.kind == SymbolTarget::Kind::variable) {
      fixup.kind = image.variables[target.index].space == Space::constant ? RelocationKind::constant
                                                                          : RelocationKind::global;
    } else {
      return link_error(source, symbol.range,
                        "initialiser of '" + variable.name + "' needs the address of '" +
                            std::string(item.name) +
                            "', which no module defines as a global, constant or function");
    }
    store(variable.data, item.offset, 0, item.bytes);
    variable.fixups.push_back(fixup);
  }
  return std::nullopt;
}

}  // namespace ptxwire::ptx
