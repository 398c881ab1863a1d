#include "ptx_frontend/lower/function_lowering.hpp"

namespace ptxwire::ptx {
namespace {

bool falls_through(const Op& op) {
  switch (op.opcode) {
    case Opcode::bra:
    case Opcode::brx:
    case Opcode::ret:
    case Opcode::exit:
      return op.guard.present();
    default:
      return true;
  }
}

}  // namespace

FunctionLowering::FunctionLowering(const LinkedImage& image, const LinkedFunction& function,
                                   ConstantPool& constants, std::vector<CallSite>& calls)
    : image_(image),
      linked_(function),
      function_(*function.function),
      constants_(constants),
      calls_(calls),
      frame_(function_),
      entry_offset_(function_.symbols.size(), FrameLayout::kNoOffset) {
  if (!function_.is_entry) return;
  const ParameterLayout layout = entry_parameters(function_);
  for (size_t k = 0; k < layout.items.size(); ++k)
    entry_offset_[function_.parameters[k]] = layout.items[k].offset;
}

void FunctionLowering::run() {
  number_registers();
  code_.ops.reserve(function_.body.size() + 1);
  code_.operands.reserve(function_.body.size() + 1);
  origins_.reserve(function_.body.size() + 1);
  first_op_.reserve(function_.body.size() + 1);
  load_register_parameters();
  for (current_ = 0; current_ < function_.body.size(); ++current_) {
    first_op_.push_back(static_cast<uint32_t>(code_.ops.size()));
    lower(function_.body[current_]);
  }
  end_function();
  resolve_branches();
  drop_unwritten_reads();
}

void FunctionLowering::number_registers() {
  uint32_t total = 0;
  first_number_.assign(function_.symbols.size(), 0);
  for (size_t s = 0; s < function_.symbols.size(); ++s) {
    const Symbol& declared = function_.symbols[s];
    if (!is_register(declared)) continue;
    first_number_[s] = total;
    total += declared.count * declared.vector;
  }
  numbers_.assign(total, kNoRegister);
}

/// A body may end without `ret`, or with a label that nothing follows.
void FunctionLowering::end_function() {
  const auto end = static_cast<uint32_t>(function_.body.size());
  first_op_.push_back(static_cast<uint32_t>(code_.ops.size()));
  bool label_at_end = false;
  for (const Symbol& declared : function_.symbols)
    label_at_end = label_at_end || (declared.kind == SymbolKind::label && declared.instruction == end);
  if (!label_at_end && !code_.ops.empty() && !falls_through(code_.ops.back())) return;
  Instruction implicit;
  implicit.opcode = Opcode::ret;
  implicit.executable = true;
  if (!function_.body.empty()) {
    implicit.line = function_.body.back().line;
    implicit.location = function_.body.back().location;
  }
  lower_return(implicit);
}

/// Labels were noted as instruction numbers, since the positions of later ops were not known.
void FunctionLowering::resolve_branches() {
  for (Op& op : code_.ops)
    if (op.opcode == Opcode::bra) op.target = first_op_[op.target];
  for (VirtualList& list : code_.lists)
    for (uint32_t& target : list.targets) target = first_op_[target];
}

/// Kernels read registers that they never write (byte swaps by prmt with an unused operand): such a read
/// gives 0 and takes no row. Predicates have no constants; theirs stays a register, which is clear when a
/// frame begins.
void FunctionLowering::drop_unwritten_reads() {
  std::vector<bool> written(code_.classes.size(), false);
  const auto count = static_cast<uint32_t>(code_.ops.size());
  for (uint32_t i = 0; i < count; ++i)
    for_each_definition(code_, i, [&](VirtualRegister r) { written[r] = true; });
  std::vector<VirtualRegister> cleared;
  for (uint32_t i = 0; i < count; ++i) {
    const VirtualRegister guard = code_.operands[i].guard;
    if (guard == kNoRegister || written[guard]) continue;
    cleared.push_back(guard);
    written[guard] = true;
  }
  const auto replace = [&](Slot& slot, VirtualRegister& r) {
    if (r == kNoRegister || written[r]) return;
    const bool negated = slot.negated;
    slot = constants_.slot(0);
    slot.negated = negated;
    r = kNoRegister;
  };
  for (uint32_t i = 0; i < count; ++i)
    for (size_t k = 0; k < code_.ops[i].src.size(); ++k)
      replace(code_.ops[i].src[k], code_.operands[i].src[k]);
  for (VirtualList& list : code_.lists)
    for (size_t k = list.destinations; k < list.slots.size(); ++k) replace(list.slots[k], list.registers[k]);
  clear_at_start(cleared);
}

/// Puts `setp.ne p, 0, 0` in front of everything.
void FunctionLowering::clear_at_start(const std::vector<VirtualRegister>& predicates) {
  if (predicates.empty()) return;
  const auto added = static_cast<uint32_t>(predicates.size());
  for (Op& op : code_.ops)
    if (op.opcode == Opcode::bra) op.target += added;
  for (VirtualList& list : code_.lists)
    for (uint32_t& target : list.targets) target += added;
  Op op;
  op.opcode = Opcode::setp;
  op.modifiers.compare = Compare::ne;
  op.modifiers.type = Type::b32;
  op.src[0] = op.src[1] = constants_.slot(0);
  op.dst[0].kind = Slot::Kind::predicate;
  op.line = code_.ops.front().line;
  VirtualOperands operands;
  for (const VirtualRegister r : predicates) {
    operands.dst[0] = r;
    code_.ops.insert(code_.ops.begin(), op);
    code_.operands.insert(code_.operands.begin(), operands);
    origins_.insert(origins_.begin(), origins_.front());
  }
}

}  // namespace ptxwire::ptx
