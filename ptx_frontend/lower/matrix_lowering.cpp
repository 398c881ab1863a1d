// Tensor copies and warpgroup matrix products: operands that are lists, and facts that only the spelling has.
#include <algorithm>
#include <charconv>
#include <utility>

#include "ptx_frontend/lower/function_lowering.hpp"

namespace ptxwire::ptx {
namespace {

constexpr size_t kMapSource = 1, kBarrierSource = 3, kMaskSource = 4, kPolicySource = 5;  // as in program.hpp

MatrixElement element_from_word(std::string_view word) {
  static constexpr std::pair<std::string_view, MatrixElement> kWords[] = {
      {"f16", MatrixElement::f16},   {"bf16", MatrixElement::bf16}, {"tf32", MatrixElement::tf32},
      {"e4m3", MatrixElement::e4m3}, {"e5m2", MatrixElement::e5m2}, {"s8", MatrixElement::s8},
      {"u8", MatrixElement::u8},     {"b1", MatrixElement::b1}};
  for (const auto& [name, element] : kWords)
    if (name == word) return element;
  return MatrixElement::none;
}

/// The words of wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16: n, and the types of A and B, which are
/// the last two that name an element (`.f16.f16.f16` starts with that of D).
MatrixForm matrix_form(std::string_view spelling) {
  MatrixForm form;
  while (!spelling.empty()) {
    const size_t dot = std::min(spelling.find('.'), spelling.size());
    const std::string_view word = spelling.substr(0, dot);
    spelling.remove_prefix(std::min(dot + 1, spelling.size()));
    if (word.starts_with("m64n")) {
      std::from_chars(word.data() + 4, word.data() + word.size(), form.n);
    } else if (const MatrixElement element = element_from_word(word); element != MatrixElement::none) {
      form.a = std::exchange(form.b, element);
    }
  }
  return form;
}

}  // namespace

/// [shared], [map, {c}], [mbarrier]{, mask}{, policy}; [map, {c}], [shared]{, policy}; [map, {c}]{, policy}.
void FunctionLowering::lower_tensor_copy(const Instruction& instruction) {
  PendingOp pending = start(instruction);
  const auto& operands = instruction.operands;
  const size_t end = operands.size() - (instruction.modifiers.cache_hint ? 1 : 0);
  const auto is_tensor = [](const Operand& operand) {
    return operand.kind == OperandKind::address && operand.elements.size() == 2;
  };
  bool shared_seen = false;
  for (size_t k = 0; k < end; ++k) {
    const Operand& operand = operands[k];
    if (is_tensor(operand)) {
      const Address map = address(operand.elements[0]);
      pending.set_src(kMapSource,
                      map.in_frame ? frame_address(frame_.offset_of(operand.elements[0].symbol)) : map.base);
      pending.op.offset2 = static_cast<int32_t>(map.offset);
      append(pending, elements(operand.elements[1], Type::s32, false));
    } else if (operand.kind == OperandKind::address) {
      set_address(pending, shared_seen ? kBarrierSource : 0, operand);
      shared_seen = true;
    } else {
      pending.set_src(kMaskSource, read(operand, Type::b16));
    }
  }
  if (end < operands.size()) pending.set_src(kPolicySource, read(operands.back(), Type::b64));
  emit(std::move(pending));
}

/// d, a, b, scale-d{, imm-scale-a, imm-scale-b{, imm-trans-a}{, imm-trans-b}}; a register operand A has no
/// imm-trans-a.
void FunctionLowering::lower_matrix_product(const Instruction& instruction) {
  PendingOp pending = start(instruction);
  const auto& operands = instruction.operands;
  MatrixForm& form = pending.op.matrix;
  form = matrix_form(instruction.text);
  append(pending, elements(operands[0], Type::none, true));
  pending.list.destinations = static_cast<uint32_t>(pending.list.slots.size());
  append(pending, elements(operands[0], Type::b32, false));
  form.a_in_registers =
      operands[1].kind == OperandKind::vector || elements(operands[1], Type::b64, false).size() > 1;
  if (form.a_in_registers) {
    append(pending, elements(operands[1], Type::b32, false));
  } else {
    pending.set_src(0, read(operands[1], Type::b64));
  }
  pending.set_src(1, read(operands[2], Type::b64));
  pending.set_src(2, read(operands[3], Type::pred));
  const auto immediate_at = [&](size_t k) {
    return k < operands.size() ? static_cast<int64_t>(operands[k].value) : 0;
  };
  form.negate_a = static_cast<int32_t>(immediate_at(4)) < 0;
  form.negate_b = static_cast<int32_t>(immediate_at(5)) < 0;
  form.transpose_a = !form.a_in_registers && immediate_at(6) != 0;
  form.transpose_b = immediate_at(form.a_in_registers ? 6 : 7) != 0;
  emit(std::move(pending));
}

}  // namespace ptxwire::ptx
