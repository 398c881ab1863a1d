// Calls: arguments and results are bytes copied between the frames of caller and callee.
#include "ptx_frontend/lower/function_lowering.hpp"

namespace ptxwire::ptx {

/// `call (results), callee, (arguments), prototype`, every part but the callee optional.
struct FunctionLowering::CallOperands {
  explicit CallOperands(const Instruction& instruction) {
    for (const Operand& operand : instruction.operands) {
      if (operand.kind == OperandKind::list)
        (callee == nullptr ? results : arguments) = &operand;
      else if (callee == nullptr)
        callee = &operand;
      else
        prototype = &operand;
    }
  }
  const Operand* results = nullptr;
  const Operand* callee = nullptr;
  const Operand* arguments = nullptr;
  const Operand* prototype = nullptr;
};

struct FunctionLowering::Signature {
  CallLayout layout;
  bool no_return = false;
};

namespace {

Type bits_type(uint32_t bytes) {
  switch (bytes) {
    case 1:
      return Type::b8;
    case 2:
      return Type::b16;
    case 4:
      return Type::b32;
    case 8:
      return Type::b64;
    default:
      return Type::b128;
  }
}

/// A loader function has no frame: its arguments are packed from 0, and so are its results.
CallLayout intrinsic_layout(const Function& declaration) {
  CallLayout layout = call_layout(declaration);
  uint32_t end = 0;
  for (ProgramParameter& parameter : layout.parameters) {
    parameter.offset = static_cast<uint32_t>(align_up(end, parameter.align));
    end = parameter.offset + parameter.bytes;
  }
  return layout;
}

}  // namespace

FunctionLowering::Signature FunctionLowering::signature_of(const CallOperands& operands, PendingOp& pending,
                                                           CallSite& site) {
  const Symbol& callee = symbol(operands.callee->symbol);
  if (!is_register(callee)) {
    const SymbolTarget target = image_.target_of(linked_, operands.callee->symbol);
    if (target.kind == SymbolTarget::Kind::function) {
      site.function = target.index;
      const Function& function = *image_.functions[target.index].function;
      return {call_layout(function), function.directives.no_return};
    }
    site.intrinsic = std::string(callee.name);
    const Module& module = *image_.modules[linked_.module];
    return {intrinsic_layout(module.functions[callee.function]), callee.name == "__assertfail"};
  }
  pending.set_src(0, read(*operands.callee, Type::u64));
  if (operands.prototype == nullptr) return {};
  const Symbol& prototype = symbol(operands.prototype->symbol);
  if (prototype.kind == SymbolKind::call_prototype) return {prototype_layout(prototype), false};
  // .calltargets: all targets have one signature.
  for (const std::string_view name : prototype.targets)
    for (const Function& function : image_.modules[linked_.module]->functions)
      if (function.name == name) return {call_layout(function), false};
  return {};
}

/// Frame offset of an argument or result: its .param variable, or room for a register or an immediate.
uint32_t FunctionLowering::argument_offset(const Operand& operand, const ProgramParameter& parameter) {
  if (operand.kind == OperandKind::identifier && is_frame_symbol(operand.symbol))
    return frame_.offset_of(operand.symbol);
  return frame_.add_temporary(parameter.bytes, parameter.align);
}

/// Emits `pending` as a load or store of one parameter in the frame.
void FunctionLowering::frame_access(PendingOp pending, Opcode opcode, uint32_t offset, uint32_t bytes,
                                    const Value& data) {
  pending.op.opcode = opcode;
  pending.op.executable = true;
  pending.op.frame_relative = true;
  pending.op.modifiers = Modifiers{};
  pending.op.modifiers.type = bits_type(bytes);
  pending.op.modifiers.space = Space::local;
  pending.op.modifiers.sub_space = SubSpace::func;
  pending.set_src(0, constant(offset));
  if (opcode == Opcode::st)
    pending.set_src(1, data);
  else
    pending.set_dst(0, data);
  emit(std::move(pending));
}

void FunctionLowering::lower_call(const Instruction& instruction) {
  const CallOperands operands(instruction);
  if (operands.callee == nullptr) return lower_not_executable(instruction);
  PendingOp pending = start(instruction);
  CallSite site;
  const Signature signature = signature_of(operands, pending, site);
  pending.operands.no_return = signature.no_return;

  const auto in_register = [&](const Operand& operand) {
    return operand.kind != OperandKind::identifier || !is_frame_symbol(operand.symbol);
  };
  const auto each = [](const Operand* list, const std::vector<ProgramParameter>& parameters, auto&& visit) {
    if (list == nullptr) return;
    for (size_t k = 0; k < list->elements.size() && k < parameters.size(); ++k)
      visit(list->elements[k], parameters[k]);
  };
  each(operands.arguments, signature.layout.parameters,
       [&](const Operand& operand, const ProgramParameter& p) {
         const uint32_t offset = argument_offset(operand, p);
         if (in_register(operand))
           frame_access(start(instruction), Opcode::st, offset, p.bytes, read(operand, bits_type(p.bytes)));
         site.arguments.push_back({offset, p.offset, p.bytes});
       });
  each(operands.results, signature.layout.returns, [&](const Operand& operand, const ProgramParameter& p) {
    site.results.push_back({argument_offset(operand, p), p.offset, p.bytes});
  });

  pending.op.target = static_cast<uint32_t>(calls_.size());
  calls_.push_back(site);
  emit(std::move(pending));

  size_t next = 0;
  each(operands.results, signature.layout.returns, [&](const Operand& operand, const ProgramParameter& p) {
    const uint32_t offset = site.results[next++].caller_offset;
    if (in_register(operand)) frame_access(start(instruction), Opcode::ld, offset, p.bytes, write(operand));
  });
}

/// Before `ret`, results that the function declares as registers go to where the caller looks for them.
void FunctionLowering::lower_return(const Instruction& instruction) {
  const auto& returns = frame_.interface().returns;
  for (size_t k = 0; k < returns.size(); ++k) {
    const uint32_t index = function_.returns[k];
    if (is_register(function_.symbols[index]))
      frame_access(start(instruction), Opcode::st, returns[k].offset, returns[k].bytes,
                   register_value(index, 0, 0));
  }
  emit(start(instruction));
}

void FunctionLowering::load_register_parameters() {
  const auto& parameters = frame_.interface().parameters;
  for (size_t k = 0; k < parameters.size(); ++k) {
    const uint32_t index = function_.parameters[k];
    if (is_register(function_.symbols[index]))
      frame_access(PendingOp{}, Opcode::ld, parameters[k].offset, parameters[k].bytes,
                   register_value(index, 0, 0));
  }
}

}  // namespace ptxwire::ptx
