#include <algorithm>

#include "ptx_frontend/link/linker.hpp"
#include "ptx_frontend/link/parameter_layout.hpp"

namespace ptxwire::ptx {
namespace {

using Kind = SymbolTarget::Kind;

void sort_unique(std::vector<uint32_t>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

class Gatherer {
 public:
  Gatherer(LinkedImage& image, LinkedFunction& function) : image_(image), function_(function) {}

  std::optional<Error> run() {
    for (const Instruction& instruction : function_.function->body) {
      const bool is_call = instruction.opcode == Opcode::call;
      bool callee_seen = !is_call;
      for (const Operand& operand : instruction.operands) {
        const bool is_callee = !callee_seen && operand.kind == OperandKind::identifier;
        if (is_callee) callee_seen = true;
        if (auto error = visit(operand, is_callee)) return error;
      }
    }
    // A static variable of the function counts even where no instruction names it, as in ptxas.
    for (const auto& [symbol, target] : function_.local_targets)
      if (target.kind == Kind::shared) function_.shared_variables.push_back(target.index);
    sort_unique(function_.callees);
    sort_unique(function_.shared_variables);
    return std::nullopt;
  }

 private:
  std::optional<Error> visit(const Operand& operand, bool is_callee) {
    for (const Operand& element : operand.elements)
      if (auto error = visit(element, false)) return error;
    if (operand.kind != OperandKind::identifier || operand.symbol == kNoSymbol) return std::nullopt;
    const Symbol& symbol = image_.symbol_of(function_, operand.symbol);
    if (is_callee && symbol.kind == SymbolKind::reg) function_.calls_indirectly = true;
    const bool linked = symbol.kind == SymbolKind::function || symbol.kind == SymbolKind::alias ||
                        (symbol.kind == SymbolKind::variable && symbol.space != Space::local &&
                         symbol.space != Space::param && symbol.space != Space::reg);
    if (!linked) return std::nullopt;
    return note(operand, symbol, image_.target_of(function_, operand.symbol), is_callee);
  }

  std::optional<Error> note(const Operand& operand, const Symbol& symbol, SymbolTarget target,
                            bool is_callee) {
    switch (target.kind) {
      case Kind::function:
        (is_callee ? function_.callees : image_.address_taken).push_back(target.index);
        break;
      case Kind::shared:
        function_.shared_variables.push_back(target.index);
        break;
      case Kind::dynamic_shared:
        function_.dynamic_shared_align = std::max(function_.dynamic_shared_align, alignment_of(symbol));
        break;
      case Kind::variable:
        break;
      case Kind::intrinsic:
        if (is_callee) break;
        return undefined(operand, symbol, "the address of a loader function cannot be taken");
      case Kind::unresolved:
        return undefined(operand, symbol, "link the module that defines it");
    }
    return std::nullopt;
  }

  [[nodiscard]] Error undefined(const Operand& operand, const Symbol& symbol, const char* hint) const {
    const char* what = symbol.kind == SymbolKind::variable ? "variable" : "function";
    return link_error(*image_.modules[function_.module], operand.range,
                      std::string("undefined ") + what + " '" + std::string(symbol.name) + "', used by '" +
                          std::string(function_.function->name) + "'",
                      hint);
  }

  LinkedImage& image_;
  LinkedFunction& function_;
};

}  // namespace

std::optional<Error> gather_references(LinkedImage& image) {
  for (LinkedFunction& function : image.functions)
    if (auto error = Gatherer(image, function).run()) return error;
  sort_unique(image.address_taken);
  return std::nullopt;
}

}  // namespace ptxwire::ptx
