// Tensor copies and warpgroup matrix products: operands that are lists, and facts that only the spelling has.
#include <algorithm>
#include <array>
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

/// What the words of a matrix instruction say: m64n256k16.f32.bf16.bf16, or m16n8k16.row.col.f32.f16.f16.f32.
struct Spelling {
  uint32_t m = 0, n = 0, k = 0;
  std::vector<std::string_view> types;  ///< D, A, B{, C}
  uint32_t count = 1;                   ///< x1, x2, x4
  bool transposed = false;

  explicit Spelling(std::string_view text) {
    while (!text.empty()) {
      const size_t dot = std::min(text.find('.'), text.size());
      read(text.substr(0, dot));
      text.remove_prefix(std::min(dot + 1, text.size()));
    }
  }

 private:
  void read(std::string_view word) {
    if (word.size() > 1 && word[0] == 'm' && word[1] >= '0' && word[1] <= '9') {
      read_shape(word);
    } else if (word.size() == 2 && word[0] == 'x') {
      count = static_cast<uint32_t>(word[1] - '0');
    } else if (word == "f32" || word == "s32" || element_from_word(word) != MatrixElement::none) {
      types.push_back(word);
    }
    transposed = transposed || word == "trans";
  }
  void read_shape(std::string_view word) {
    const char* end = word.data() + word.size();
    const char* at = word.data() + 1;
    for (uint32_t* const number : {&m, &n, &k}) {
      at = std::from_chars(at, end, *number).ptr;
      if (at == end) return;
      ++at;
    }
  }
};

uint32_t element_bits(MatrixElement element) {
  switch (element) {
    case MatrixElement::f16:
    case MatrixElement::bf16:
      return 16;
    case MatrixElement::tf32:
      return 32;
    case MatrixElement::b1:
      return 1;
    default:
      return 8;
  }
}

MatrixForm matrix_form(const Spelling& spelling) {
  MatrixForm form;
  if (spelling.types.size() < 3) return form;
  form.a = element_from_word(spelling.types[1]);
  form.b = element_from_word(spelling.types[2]);
  form.n = static_cast<uint16_t>(spelling.n);
  form.row_bytes = static_cast<uint8_t>(spelling.k * element_bits(form.a) / 8);
  return form;
}

/// Field of tensormap.replace.tile.FIELD...
TensorField tensor_field(std::string_view spelling) {
  static constexpr std::pair<std::string_view, TensorField> kFields[] = {
      {".global_address", TensorField::global_address},
      {".rank", TensorField::rank},
      {".box_dim", TensorField::box_dim},
      {".global_dim", TensorField::global_dim},
      {".global_stride", TensorField::global_stride},
      {".element_stride", TensorField::element_stride},
      {".elemtype", TensorField::elemtype},
      {".interleave_layout", TensorField::interleave_layout},
      {".swizzle_mode", TensorField::swizzle_mode},
      {".fill_mode", TensorField::fill_mode}};
  for (const auto& [name, field] : kFields)
    if (spelling.find(name) != std::string_view::npos) return field;
  return TensorField::none;
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
  form = matrix_form(Spelling(instruction.text));
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

/// d, a, b, c: all of them registers of the thread.
void FunctionLowering::lower_warp_product(const Instruction& instruction) {
  const Spelling spelling(instruction.text);
  PendingOp pending = start(instruction);
  MatrixForm& form = pending.op.matrix;
  form = matrix_form(spelling);
  form.a_in_registers = true;
  const uint32_t sums = pending.op.modifiers.type == Type::f16 ? 2 : 4;
  std::array<std::vector<Value>, 4> values;  // d, a, b, c
  for (size_t k = 0; k < values.size(); ++k) values[k] = elements(instruction.operands[k], Type::b32, k == 0);
  const uint32_t right = form.row_bytes / 16U;
  const bool known = spelling.types.size() == 4 && spelling.types[0] == spelling.types[3] &&
                     values[0].size() == sums && values[3].size() == sums &&
                     values[1].size() == 2 * size_t{right} && values[2].size() == right;
  if (!known) return lower_not_executable(instruction);  // D of another type than C
  append(pending, values[0]);
  pending.list.destinations = sums;
  append(pending, values[3]);
  append(pending, values[1]);
  append(pending, values[2]);
  emit(std::move(pending));
}

/// ldmatrix r, [a] and stmatrix [a], r.
void FunctionLowering::lower_matrix_move(const Instruction& instruction) {
  const Spelling spelling(instruction.text);
  const bool loads = instruction.opcode == Opcode::ldmatrix;
  PendingOp pending = start(instruction);
  pending.op.matrix.n = static_cast<uint16_t>(spelling.count);
  pending.op.matrix.transpose_a = spelling.transposed;
  set_address(pending, 0, instruction.operands[loads ? 1 : 0]);
  const std::vector<Value> registers = elements(instruction.operands[loads ? 0 : 1], Type::b32, loads);
  if (registers.size() != spelling.count) return lower_not_executable(instruction);
  for (size_t k = 0; k < registers.size(); ++k)
    loads ? pending.set_dst(k, registers[k]) : pending.set_src(k + 1, registers[k]);
  emit(std::move(pending));
}

/// tensormap.replace [a]{, ordinal}, value.
void FunctionLowering::lower_tensormap_replace(const Instruction& instruction) {
  PendingOp pending = start(instruction);
  const auto& operands = instruction.operands;
  pending.op.tensor_field = tensor_field(instruction.text);
  set_address(pending, 0, operands[0]);
  pending.set_src(1, read(operands.back(), instruction.modifiers.type));
  if (operands.size() == 3) pending.set_src(2, read(operands[1], Type::u32));
  emit(std::move(pending));
}

}  // namespace ptxwire::ptx
