// Branches, branch tables and calls.
#include "ptx_frontend/check/checker.hpp"
#include "ptx_frontend/check/hint.hpp"

namespace ptxwire::ptx {

bool Checker::resolve_label(const Function& function, const FunctionNames& names, uint32_t scope,
                            Operand& operand) {
  const NameMatch match = names.find_label(operand.name, scope);
  operand.symbol = match.symbol;
  if (match.found()) {
    const Symbol& symbol = function.symbols[match.symbol];
    if (symbol.kind == SymbolKind::label || symbol.range.begin < operand.range.begin) return true;
    error("undefined-label", operand.range,
          "'" + std::string(operand.name) +
              "' is declared after its use, a table or prototype must come before");
    return false;
  }
  if (incomplete_) return false;
  const std::string name = "'" + std::string(operand.name) + "'";
  if (names.label_elsewhere(operand.name)) {
    error("branch-into-block", operand.range,
          "label " + name +
              " is inside a block that does not contain this branch, a branch may leave a block but not "
              "enter one");
    return false;
  }
  error("undefined-label", operand.range, "label " + name + " is not defined in this function",
        hints_left_ == 0 ? std::string() : did_you_mean(operand.name, names.list_labels()));
  hints_left_ -= hints_left_ != 0 ? 1 : 0;
  return false;
}

void Checker::check_branch(const Function& function, const FunctionNames& names, Instruction& instruction) {
  const bool indexed = instruction.opcode == Opcode::brx;
  const size_t expected = indexed ? 2 : 1;
  if (instruction.operands.size() != expected) {
    return error("operand-count", instruction.head_range,
                 "'" + std::string(instruction.text) + "' takes " + std::to_string(expected) +
                     " operands, found " + std::to_string(instruction.operands.size()));
  }
  Operand& target = instruction.operands.back();
  if (target.kind != OperandKind::identifier)
    return error("operand-mismatch", target.range, "expected a label");
  if (!resolve_label(function, names, instruction.scope, target)) return;
  const SymbolKind kind = function.symbols[target.symbol].kind;
  if (!indexed) {
    if (kind != SymbolKind::label)
      error("operand-mismatch", target.range, "'" + std::string(target.name) + "' is not a code label");
    return;
  }
  if (kind != SymbolKind::branch_targets)
    error("operand-mismatch", target.range, "expected the name of a .branchtargets list");
  Operand& index = instruction.operands.front();
  if (index.kind != OperandKind::identifier)
    return error("operand-mismatch", index.range, "expected a 32-bit register as index");
  if (!resolve_name(names, instruction.scope, index)) return;
  if (!register_fits(OperandChecker(module_, function).register_type(index), Type::u32, false)) {
    error("operand-mismatch", index.range, "the index of brx.idx must be a .u32 register");
  }
}

/// The labels of .branchtargets lists and the functions of .calltargets lists.
void Checker::check_targets(const Function& function, const FunctionNames& names) {
  for (const Symbol& table : function.symbols) {
    if (table.kind != SymbolKind::branch_targets && table.kind != SymbolKind::call_targets) continue;
    for (std::string_view name : table.targets) {
      Operand target;
      target.name = name;
      const auto begin = static_cast<uint32_t>(name.data() - module_.text->data());
      target.range = {begin, begin + static_cast<uint32_t>(name.size())};
      if (table.kind == SymbolKind::branch_targets) {
        resolve_label(function, names, table.scope, target);
      } else if (!incomplete_ && !names.find(name, table.scope, begin).found()) {
        error("undefined-name", target.range, "function '" + std::string(name) + "' is not declared",
              did_you_mean(name, names.list()));
      }
    }
  }
}

std::vector<Note> Checker::callee_declaration(const Function& function, const Operand& callee) const {
  const Symbol* symbol = OperandChecker(module_, function).symbol_of(callee);
  if (symbol == nullptr) return {};
  return {{symbol->range, "'" + std::string(callee.name) + "' is declared here"}};
}

void Checker::check_call_arguments(const Function& function, const Operand* list,
                                   const std::vector<Symbol>& declared, const Operand& callee,
                                   std::string_view what) {
  const size_t count = list == nullptr ? 0 : list->elements.size();
  if (count != declared.size()) {
    return diagnostics_.add({Severity::error,
                             "call-arguments",
                             list == nullptr ? callee.range : list->range,
                             "'" + std::string(callee.name) + "' is declared with " +
                                 std::to_string(declared.size()) + " " +
                                 std::string(what.substr(0, what.size() - (declared.size() == 1 ? 1 : 0))) +
                                 ", found " + std::to_string(count),
                             {},
                             callee_declaration(function, callee)});
  }
  const OperandChecker checker(module_, function);
  for (size_t i = 0; i < count; ++i) {
    const Operand& argument = list->elements[i];
    const Symbol* symbol = checker.symbol_of(argument);
    if (symbol == nullptr || declared[i].unsized) continue;
    const Symbol& formal = declared[i];
    const bool arrays = symbol->is_array && formal.is_array && symbol->bytes() == formal.bytes() &&
                        symbol->align >= formal.align;
    const bool scalars =
        !symbol->is_array && !formal.is_array && register_fits(symbol->type, formal.type, false);
    if (!arrays && !scalars) {
      diagnostics_.add({Severity::error,
                        "call-arguments",
                        argument.range,
                        "'" + std::string(argument.name) + "' (" + type_name(symbol->type) + ", " +
                            std::to_string(symbol->bytes()) + " bytes) does not match what '" +
                            std::string(callee.name) + "' declares here: " + type_name(formal.type) + ", " +
                            std::to_string(formal.bytes()) + " bytes",
                        {},
                        {{formal.range, "the parameter is declared here"}}});
    }
  }
}

/// call [(returns),] callee [, (arguments)] [, prototype or .calltargets list]
void Checker::check_call(const Function& function, const FunctionNames& names, Instruction& instruction) {
  auto& operands = instruction.operands;
  size_t at = 0;
  const Operand *returns = nullptr, *arguments = nullptr;
  if (at < operands.size() && operands[at].kind == OperandKind::list) returns = &operands[at++];
  if (at >= operands.size() || operands[at].kind != OperandKind::identifier) {
    return error("operand-mismatch", instruction.head_range,
                 "expected the function to call: call (result), function, (arguments)");
  }
  Operand& callee = operands[at++];
  if (at < operands.size() && operands[at].kind == OperandKind::list) arguments = &operands[at++];
  Operand* prototype =
      at < operands.size() && operands[at].kind == OperandKind::identifier ? &operands[at++] : nullptr;
  if (at != operands.size())
    return error("operand-mismatch", operands[at].range, "unexpected operand after the call");
  bool good = resolve_name(names, instruction.scope, callee);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].kind != OperandKind::list) continue;
    for (Operand& element : operands[i].elements) good &= resolve_operand(names, instruction, element);
  }
  if (prototype != nullptr) good &= resolve_label(function, names, instruction.scope, *prototype);
  if (!good) return;
  const Symbol& target = *OperandChecker(module_, function).symbol_of(callee);
  if (target.kind == SymbolKind::alias) return;
  if (target.kind == SymbolKind::function) {
    const Function& called = module_.functions[target.function];
    if (called.is_entry)
      return error("operand-mismatch", callee.range,
                   "'" + std::string(callee.name) + "' is a kernel, expected a function (.func)");
    const auto declared = [&](const std::vector<uint32_t>& indices) {
      std::vector<Symbol> symbols;
      for (uint32_t index : indices) symbols.push_back(called.symbols[index]);
      return symbols;
    };
    check_call_arguments(function, returns, declared(called.returns), callee, "results");
    check_call_arguments(function, arguments, declared(called.parameters), callee, "parameters");
    return;
  }
  if (target.kind != SymbolKind::reg || type_bytes(target.type) != 8) {
    return error(
        "operand-mismatch", callee.range,
        "'" + std::string(callee.name) + "' is no function and no 64-bit register with the address of one");
  }
  if (prototype == nullptr) {
    return error("missing-prototype", instruction.range,
                 "an indirect call needs a .callprototype or .calltargets name as last operand");
  }
  const Symbol& table = function.symbols[prototype->symbol];
  if (table.kind == SymbolKind::call_prototype) {
    check_call_arguments(function, returns, table.prototype_returns, *prototype, "results");
    check_call_arguments(function, arguments, table.prototype_parameters, *prototype, "parameters");
  } else if (table.kind != SymbolKind::call_targets) {
    error("operand-mismatch", prototype->range,
          "expected the name of a .callprototype or a .calltargets list");
  }
}

}  // namespace ptxwire::ptx
