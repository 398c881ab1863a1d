#include <bit>

#include "ptx_frontend/lower/function_lowering.hpp"

namespace ptxwire::ptx {
namespace {

RegisterClass class_of(Type type) {
  if (type == Type::pred) return RegisterClass::predicate;
  switch (type_bytes(type)) {
    case 8:
      return RegisterClass::pair;
    case 16:
      return RegisterClass::quad;
    default:
      return RegisterClass::row;
  }
}

Value value_of(VirtualRegister reg, RegisterClass register_class) {
  Value value;
  value.reg = reg;
  value.slot.kind = register_class == RegisterClass::predicate ? Slot::Kind::predicate : Slot::Kind::reg;
  value.slot.rows = static_cast<uint8_t>(rows_of(register_class));
  return value;
}

Value sink() {
  Value value;
  value.slot.kind = Slot::Kind::sink;
  return value;
}

}  // namespace

bool is_register(const Symbol& symbol) {
  return symbol.kind == SymbolKind::reg ||
         (symbol.kind == SymbolKind::parameter && symbol.space == Space::reg);
}

bool FunctionLowering::is_frame_symbol(uint32_t index) const {
  return (index & kModuleSymbolBit) == 0 && frame_.offset_of(index) != FrameLayout::kNoOffset;
}

/// `component` counts from 0.
Value FunctionLowering::register_value(uint32_t index, uint32_t element, uint32_t component) {
  const Symbol& declared = function_.symbols[index];
  VirtualRegister& number = numbers_[first_number_[index] + element * declared.vector + component];
  if (number == kNoRegister) number = code_.new_register(class_of(declared.type));
  return value_of(number, code_.classes[number]);
}

/// The address (or code handle) of a symbol plus `addend` as a constant. Frame variables need
/// frame_address().
Value FunctionLowering::symbol_value(const Operand& operand, int64_t addend) {
  Constant constant;
  constant.value = static_cast<uint64_t>(addend);
  const bool local = (operand.symbol & kModuleSymbolBit) == 0;
  if (local && entry_offset_[operand.symbol] != FrameLayout::kNoOffset) {
    constant.value += entry_offset_[operand.symbol];
    return {constants_.slot(constant), kNoRegister};
  }
  const SymbolTarget target = image_.target_of(linked_, operand.symbol);
  constant.symbol = target.index;
  switch (target.kind) {
    case SymbolTarget::Kind::variable:
      constant.relocation = image_.variables[target.index].space == Space::constant ? RelocationKind::constant
                                                                                    : RelocationKind::global;
      break;
    case SymbolTarget::Kind::function:
      constant.relocation = RelocationKind::function;
      break;
    case SymbolTarget::Kind::shared:
      constant.symbol = 0;
      constant.value += image_.shared_variables[target.index].offset;
      break;
    case SymbolTarget::Kind::dynamic_shared:
      constant.relocation = RelocationKind::shared_dynamic;
      break;
    default:
      break;
  }
  return {constants_.slot(constant), kNoRegister};
}

/// An immediate as a reader of `type` expects it: floats in the format of the type, integers cut to its width
/// (narrow values are kept zero-extended in rows).
Value FunctionLowering::immediate(const Operand& operand, Type type) {
  const unsigned bytes = type_bytes(type);
  if (operand.kind == OperandKind::float64)
    return constant(bytes == 4
                        ? std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(operand.value)))
                        : operand.value);
  if (operand.kind == OperandKind::float32)
    return constant(type == Type::f64 ? std::bit_cast<uint64_t>(static_cast<double>(
                                            std::bit_cast<float>(static_cast<uint32_t>(operand.value))))
                                      : operand.value);
  if (bytes == 0 || bytes >= 8) return constant(operand.value);
  return constant(operand.value & ((1ULL << (8 * bytes)) - 1));
}

Value FunctionLowering::read(const Operand& operand, Type type) {
  switch (operand.kind) {
    case OperandKind::identifier: {
      const Symbol& named = symbol(operand.symbol);
      if (is_register(named)) {
        Value value = register_value(operand.symbol, operand.element,
                                     operand.component == 0 ? 0U : operand.component - 1U);
        value.slot.negated = operand.negated;
        return value;
      }
      if (is_frame_symbol(operand.symbol)) return frame_address(frame_.offset_of(operand.symbol));
      return symbol_value(operand, 0);
    }
    case OperandKind::name_offset: {
      const Operand& base = operand.elements.front();
      if (is_frame_symbol(base.symbol))
        return frame_address(frame_.offset_of(base.symbol) + static_cast<uint32_t>(operand.offset));
      return symbol_value(base, operand.offset);
    }
    case OperandKind::special:
      return constant(static_cast<uint64_t>(operand.special));
    case OperandKind::vector:
      // A scalar may be written in braces.
      return operand.elements.empty() ? Value{} : read(operand.elements.front(), type);
    case OperandKind::sink:
      return constant(0);
    default:
      return immediate(operand, type);
  }
}

Value FunctionLowering::write(const Operand& operand) {
  if (operand.kind == OperandKind::vector && operand.elements.size() == 1)
    return write(operand.elements.front());
  if (operand.kind != OperandKind::identifier || !is_register(symbol(operand.symbol))) return sink();
  return register_value(operand.symbol, operand.element,
                        operand.component == 0 ? 0U : operand.component - 1U);
}

/// The scalars of { a, b, ... }, of a vector register, or of a plain operand (then one).
std::vector<Value> FunctionLowering::elements(const Operand& operand, Type type, bool written) {
  std::vector<Value> values;
  if (operand.kind == OperandKind::vector) {
    for (const Operand& element : operand.elements)
      values.push_back(written ? write(element) : read(element, type));
    return values;
  }
  if (operand.kind == OperandKind::identifier && operand.component == 0) {
    const Symbol& named = symbol(operand.symbol);
    if (is_register(named) && named.vector > 1) {
      for (uint32_t c = 0; c < named.vector; ++c)
        values.push_back(register_value(operand.symbol, operand.element, c));
      return values;
    }
  }
  values.push_back(written ? write(operand) : read(operand, type));
  return values;
}

/// Accepts [base + offset] as well as a bare base.
Address FunctionLowering::address(const Operand& operand) {
  Address result;
  const bool wrapped = operand.kind == OperandKind::address || operand.kind == OperandKind::name_offset;
  const Operand& base = wrapped && !operand.elements.empty() ? operand.elements.front() : operand;
  if (wrapped) result.offset = operand.offset;
  if (base.kind != OperandKind::identifier) {
    result.base = immediate(base, Type::b64);
    return result;
  }
  const Symbol& named = symbol(base.symbol);
  if (is_register(named)) {
    result.base = register_value(base.symbol, base.element, base.component == 0 ? 0U : base.component - 1U);
    return result;
  }
  result.space = named.space;
  if (is_frame_symbol(base.symbol)) {
    result.in_frame = true;
    result.is_parameter = named.space == Space::param;
    result.base = constant(frame_.offset_of(base.symbol));
    return result;
  }
  result.base = symbol_value(base, 0);
  return result;
}

/// Emits the op that computes a frame address into a new register.
Value FunctionLowering::frame_address(uint32_t offset) {
  const Value result = value_of(code_.new_register(RegisterClass::pair), RegisterClass::pair);
  PendingOp pending = start(function_.body[current_]);
  pending.op.opcode = Opcode::frame_address;
  pending.op.modifiers = Modifiers{};
  pending.op.modifiers.type = Type::u64;
  pending.set_dst(0, result);
  pending.set_src(0, constant(offset));
  emit(std::move(pending));
  return result;
}

}  // namespace ptxwire::ptx
