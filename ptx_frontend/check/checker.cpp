#include "ptx_frontend/check/checker.hpp"

#include <algorithm>

#include "ptx_frontend/check/hint.hpp"
#include "ptx_frontend/frontend.hpp"
#include "ptx_frontend/isa/special_register.hpp"

namespace ptxwire::ptx {
namespace {

constexpr uint64_t kMaxStaticShared = 48 * 1024;

/// st.param to a parameter that the function was given.
bool writes_input(const Function& function, const Instruction& instruction) {
  if (instruction.opcode != Opcode::st || instruction.modifiers.space != Space::param) return false;
  const uint32_t target = instruction.operands[0].elements[0].symbol;
  return std::find(function.parameters.begin(), function.parameters.end(), target) !=
         function.parameters.end();
}

/// st.param to an argument of a call, declared in the body.
bool writes_argument(const Function& function, const Instruction& instruction) {
  if (instruction.opcode != Opcode::st || instruction.modifiers.space != Space::param) return false;
  const uint32_t target = instruction.operands[0].elements[0].symbol;
  const auto contains = [&](const std::vector<uint32_t>& list) {
    return std::find(list.begin(), list.end(), target) != list.end();
  };
  return target < function.symbols.size() && function.symbols[target].space == Space::param &&
         !contains(function.parameters) && !contains(function.returns);
}

/// ld.param of the result that the function gives.
bool reads_output(const Function& function, const Instruction& instruction) {
  if (instruction.opcode != Opcode::ld || instruction.modifiers.space != Space::param) return false;
  const uint32_t source = instruction.operands[1].elements[0].symbol;
  return std::find(function.returns.begin(), function.returns.end(), source) != function.returns.end();
}

/// mov of a special register is an operation of its own; of symbols and constants it stays a mov.
Opcode refine_opcode(const Candidate& candidate, const Instruction& instruction) {
  const Opcode opcode = candidate.form->form->opcode;
  if (opcode == Opcode::mov && instruction.operands.size() == 2 &&
      instruction.operands[1].kind == OperandKind::special) {
    return Opcode::read_special;
  }
  return opcode;
}

}  // namespace

void Checker::error(std::string_view id, SourceRange range, std::string message, std::string hint) {
  diagnostics_.add({Severity::error, id, range, std::move(message), std::move(hint), {}});
}

// ---------------------------------------------------------------- names

void Checker::note_shared_use(const Operand& operand) {
  if (operand.symbol == kNoSymbol || (operand.symbol & kModuleSymbolBit) == 0) return;
  const uint32_t index = operand.symbol & ~kModuleSymbolBit;
  if (module_.symbols[index].space == Space::shared) shared_used_.insert(index);
}

bool Checker::resolve_name(const FunctionNames& names, uint32_t scope, Operand& operand) {
  const NameMatch match = names.find(operand.name, scope, operand.range.begin);
  operand.symbol = match.symbol;
  operand.element = match.element;
  if (match.found()) {
    note_shared_use(operand);
    return true;
  }
  if (incomplete_ || !undefined_.insert(operand.name).second) return false;
  std::string hint = names.range_hint(operand.name);
  if (hint.empty() && hints_left_ != 0) {
    --hints_left_;
    hint = did_you_mean(operand.name, names.list());
  }
  const bool is_register = operand.name.front() == '%';
  error(is_register ? "undefined-register" : "undefined-name", operand.range,
        std::string(is_register ? "register '" : "name '") + std::string(operand.name) + "' is not declared",
        hint);
  return false;
}

bool Checker::resolve_operand(const FunctionNames& names, const Instruction& instruction, Operand& operand) {
  if (operand.kind == OperandKind::identifier) return resolve_name(names, instruction.scope, operand);
  if (operand.kind == OperandKind::special) {
    const SpecialRegisterInfo& info = special_register_info(operand.special);
    const std::string lacks = spellings_.missing({info.ptx, info.sm, false});
    if (!lacks.empty()) {
      error("unsupported-by-target", operand.range,
            "special register '" + std::string(info.name) + "' needs " + lacks);
      return false;
    }
    return true;
  }
  bool good = true;
  for (Operand& element : operand.elements) good &= resolve_operand(names, instruction, element);
  return good;
}

/// The elements that an index counts are of the variable's basic type; of a vector too (ISA 6.4.2).
void Checker::scale_index(const Function& function, Operand& operand) {
  if (!operand.indexed) return;
  operand.indexed = false;
  const Symbol* symbol = OperandChecker(module_, function).symbol_of(operand.elements[0]);
  if (symbol == nullptr) return;
  if (!symbol->is_array) {
    error("operand-mismatch", operand.range,
          "'" + std::string(operand.name) + "' is no array, an index needs one",
          "an address in a register is written [%rd1+8]");
  }
  operand.offset *= std::max(1U, type_bytes(symbol->type));
}

namespace {

/// ld.global.u32 d, a[3] says the same as [a+12].
void index_to_address(const Candidate& candidate, size_t place, Operand& operand) {
  if (operand.kind != OperandKind::name_offset || place >= candidate.operands.size()) return;
  const OperandClass kind = candidate.operands[place]->kind;
  if (kind == OperandClass::address || kind == OperandClass::source_address)
    operand.kind = OperandKind::address;
}

}  // namespace

namespace {

/// The named operand at `range`, or null.
const Operand* find_operand(const std::vector<Operand>& operands, SourceRange range) {
  for (const Operand& operand : operands) {
    if (operand.symbol != kNoSymbol && operand.range.begin == range.begin) return &operand;
    if (const Operand* inner = find_operand(operand.elements, range); inner != nullptr) return inner;
  }
  return nullptr;
}

}  // namespace

/// A note at the declaration of what is named at `range`.
std::vector<Note> Checker::declared_at(const Function& function, const Instruction& instruction,
                                       SourceRange range) const {
  const Operand* operand = find_operand(instruction.operands, range);
  if (operand == nullptr) return {};
  const Symbol* symbol = OperandChecker(module_, function).symbol_of(*operand);
  if (symbol == nullptr || symbol->range.end == 0) return {};
  return {{symbol->range, "'" + std::string(operand->name) + "' is declared here"}};
}

// ---------------------------------------------------------------- instructions

void Checker::check_guard(const Function& function, const FunctionNames& names, Instruction& instruction) {
  Operand& predicate = instruction.guard.predicate;
  if (!instruction.guard.present || !resolve_name(names, instruction.scope, predicate)) return;
  const Type type = OperandChecker(module_, function).register_type(predicate);
  if (type != Type::pred) {
    error("bad-guard", predicate.range,
          "'" + std::string(predicate.name) + "' is not a predicate register, a guard needs one");
  }
}

void Checker::check_instruction(const Function& function, const FunctionNames& names,
                                Instruction& instruction) {
  check_guard(function, names, instruction);
  const ResolvedSpelling& resolved = spellings_.resolve(instruction.text);
  if (resolved.candidates.empty()) {
    const SpellingError& e = resolved.error;
    const uint32_t begin = instruction.head_range.begin;
    error(e.id, {begin + e.begin, begin + e.end}, e.message, e.hint);
    return;
  }
  const Candidate& first = resolved.candidates.front();
  const Opcode family = first.form->form->opcode;
  instruction.opcode = family;
  instruction.modifiers = first.modifiers;
  instruction.executable = first.form->form->support == Support::executed && family != Opcode::unsupported;
  if (family == Opcode::bra || family == Opcode::brx) return check_branch(function, names, instruction);
  if (family == Opcode::call) return check_call(function, names, instruction);
  bool good = true;
  for (size_t k = 0; k < instruction.operands.size(); ++k) {
    Operand& operand = instruction.operands[k];
    good &= resolve_operand(names, instruction, operand);
    if (!operand.indexed) continue;
    scale_index(function, operand);
    index_to_address(first, k, operand);
  }
  if (!good) return;
  const OperandChecker checker(module_, function);
  std::optional<OperandError> best;
  for (const Candidate& candidate : resolved.candidates) {
    std::optional<OperandError> problem = checker.check(candidate, instruction);
    if (!problem) {
      instruction.opcode = refine_opcode(candidate, instruction);
      instruction.modifiers = candidate.modifiers;
      instruction.executable =
          candidate.form->form->support == Support::executed && instruction.opcode != Opcode::unsupported;
      if (reads_output(function, instruction)) {
        error("read-of-result", instruction.operands[1].range, "the function's result can only be written");
      }
      if (instruction.guard.present && writes_argument(function, instruction)) {
        error("bad-guard", instruction.guard.predicate.range,
              "a store of a call's argument cannot be guarded, it must happen for every thread that calls");
      }
      if (writes_input(function, instruction)) {
        error("write-to-parameter", instruction.operands[0].range,
              "the function's own parameters are read-only");
      }
      return;
    }
    if (!best || problem->operand > best->operand) best = std::move(problem);
  }
  diagnostics_.add({Severity::error, best->id, best->range, best->message, best->hint,
                    declared_at(function, instruction, best->range)});
}

void Checker::check_shared_size(const Function& function) {
  uint64_t bytes = 0;
  const Symbol* largest = nullptr;
  const auto add = [&](const Symbol& symbol) {
    const uint64_t align =
        symbol.align != 0 ? symbol.align : std::max(1U, type_bytes(symbol.type) * symbol.vector);
    bytes = (bytes + align - 1) / align * align + symbol.bytes();
    if (largest == nullptr || symbol.bytes() > largest->bytes()) largest = &symbol;
  };
  for (const Symbol& symbol : function.symbols) {
    if (symbol.kind == SymbolKind::variable && symbol.space == Space::shared) add(symbol);
  }
  for (uint32_t index : shared_used_) add(module_.symbols[index]);
  if (bytes <= kMaxStaticShared) return;
  error("too-much-shared", largest->range,
        "function '" + std::string(function.name) + "' has " + std::to_string(bytes) +
            " bytes of static .shared variables, at most " + std::to_string(kMaxStaticShared) +
            " are possible",
        "larger shared memory is dynamic: declare it '.extern .shared .align 16 .b8 name[];' and give its "
        "size at launch");
}

bool Checker::has_error_inside(const Function& function) const {
  const SourceRange body = function.scopes.empty() ? SourceRange{} : function.scopes[0].range;
  const uint32_t end = body.end != 0 ? body.end : UINT32_MAX;
  return std::any_of(syntax_errors_.begin(), syntax_errors_.end(),
                     [&](uint32_t place) { return place >= body.begin && place < end; });
}

void Checker::check_function(Function& function, const ModuleNames& names) {
  check_function_header(function);
  if (!function.is_definition) return;
  undefined_.clear();
  shared_used_.clear();
  incomplete_ = holes_outside_ || has_error_inside(function);
  const FunctionNames function_names(function, names, diagnostics_);
  check_targets(function, function_names);
  for (Instruction& instruction : function.body) check_instruction(function, function_names, instruction);
  check_shared_size(function);
}

void Checker::check_module() {
  // Without a version and a target there is no rule to check by.
  if (module_.version_major == 0 || module_.target.empty()) return;
  for (const Diagnostic& diagnostic : diagnostics_.list()) {
    if (diagnostic.severity == Severity::error) syntax_errors_.push_back(diagnostic.range.begin);
  }
  size_t inside = 0;
  for (const Function& function : module_.functions) {
    if (!function.is_definition) continue;
    const SourceRange body = function.scopes[0].range;
    inside +=
        static_cast<size_t>(std::count_if(syntax_errors_.begin(), syntax_errors_.end(), [&](uint32_t place) {
          return place >= body.begin && (body.end == 0 || place < body.end);
        }));
  }
  incomplete_ = holes_outside_ = inside != syntax_errors_.size();
  check_target();
  const ModuleNames names(module_, diagnostics_);
  check_variables();
  resolve_initialisers(names);
  check_prototypes();
  check_aliases();
  for (Function& function : module_.functions) check_function(function, names);
}

void check(Module& module, Diagnostics& diagnostics) { Checker(module, diagnostics).check_module(); }

}  // namespace ptxwire::ptx
