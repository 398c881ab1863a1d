#include "ptx_frontend/lower/function_lowering.hpp"

namespace ptxwire::ptx {
namespace {

constexpr size_t kPolicySource = 5;  // where program.hpp puts the L2 policy operand

/// The type that source `k` (after the destinations) of an ordinary instruction is read as.
Type source_type(const Instruction& instruction, size_t k) {
  const Modifiers& m = instruction.modifiers;
  switch (instruction.opcode) {
    case Opcode::shl:
    case Opcode::shr:
      return k == 0 ? m.type : Type::u32;
    case Opcode::slct:
      return k < 2 || m.source_type == Type::none ? m.type : m.source_type;
    case Opcode::mad:
      return k == 2 && m.half == HalfSelect::wide ? Type::none : m.type;
    case Opcode::set:
    case Opcode::setp:
    case Opcode::cvt:
    case Opcode::cvt_pack:
    case Opcode::testp:
      return m.source_type == Type::none ? m.type : m.source_type;
    case Opcode::createpolicy:  // the type is that of the result
      return m.policy == PolicyForm::fractional ? Type::f32
             : m.policy == PolicyForm::range    ? Type::u32
                                                : m.type;
    default:
      return m.type;
  }
}

/// The label of this name that is visible in `scope`: the innermost one.
const Symbol* find_label(const Function& function, std::string_view name, uint32_t scope) {
  for (; scope < function.scopes.size(); scope = function.scopes[scope].parent)
    for (const Symbol& label : function.symbols)
      if (label.kind == SymbolKind::label && label.scope == scope && label.name == name) return &label;
  return nullptr;
}

bool is_clock(SpecialRegister which) {
  return which >= SpecialRegister::clock && which <= SpecialRegister::globaltimer_hi;
}

}  // namespace

size_t destination_count(Opcode opcode) {
  switch (opcode) {
    case Opcode::nanosleep:
    case Opcode::exit:
    case Opcode::trap:
    case Opcode::brkpt:
    case Opcode::nop:
    case Opcode::prefetch:
    case Opcode::discard:
    case Opcode::applypriority:
    case Opcode::fence:
    case Opcode::cp_async_commit_group:
    case Opcode::cp_async_wait_group:
    case Opcode::cp_async_wait_all:
    case Opcode::cp_async_mbarrier_arrive:
    case Opcode::cp_async_bulk_commit_group:
    case Opcode::cp_async_bulk_wait_group:
    case Opcode::bar_warp_sync:
    case Opcode::barrier_cluster:
    case Opcode::mbarrier_init:
    case Opcode::mbarrier_inval:
    case Opcode::mbarrier_expect_tx:
    case Opcode::mbarrier_complete_tx:
    case Opcode::griddepcontrol_wait:
    case Opcode::griddepcontrol_launch_dependents:
    case Opcode::setmaxnreg_inc:
    case Opcode::setmaxnreg_dec:
    case Opcode::st_bulk:
    case Opcode::wgmma_fence:
    case Opcode::wgmma_commit_group:
    case Opcode::wgmma_wait_group:
      return 0;
    default:
      return 1;
  }
}

PendingOp FunctionLowering::start(const Instruction& instruction) {
  PendingOp pending;
  pending.op.opcode = instruction.opcode;
  pending.op.modifiers = instruction.modifiers;
  pending.op.line = instruction.line;
  pending.op.location = instruction.location;
  pending.op.executable = instruction.executable;
  if (instruction.guard.present) {
    const Value guard = read(instruction.guard.predicate, Type::pred);
    pending.op.guard = guard.slot;
    pending.op.guard.negated = instruction.guard.negated;
    pending.operands.guard = guard.reg;
  }
  return pending;
}

uint32_t FunctionLowering::emit(PendingOp&& pending) {
  if (!pending.list.slots.empty() || !pending.list.targets.empty()) {
    pending.op.operand_list = static_cast<uint32_t>(code_.lists.size());
    code_.lists.push_back(std::move(pending.list));
  }
  code_.ops.push_back(pending.op);
  code_.operands.push_back(pending.operands);
  origins_.push_back(current_);
  return static_cast<uint32_t>(code_.ops.size()) - 1;
}

/// Source `k` is an address. Its offset goes to the field that program.hpp pairs with `k`.
void FunctionLowering::set_address(PendingOp& pending, size_t k, const Operand& operand) {
  Address where = address(operand);
  if (where.in_frame) where.base = frame_address(frame_.offset_of(operand.elements.front().symbol));
  pending.set_src(k, where.base);
  (k == 0   ? pending.op.offset
   : k == 1 ? pending.op.offset2
            : pending.op.offset3) = static_cast<int32_t>(where.offset);
}

/// Operands in written order: destinations, then sources. p|q fills two destinations; a policy operand goes
/// last.
void FunctionLowering::lower_plain(const Instruction& instruction, size_t destinations) {
  PendingOp pending = start(instruction);
  // The parameters of a .func lie in its frame.
  if (instruction.opcode == Opcode::cvta && !function_.is_entry &&
      instruction.modifiers.space == Space::param)
    pending.op.modifiers.space = Space::local;
  const auto& operands = instruction.operands;
  size_t next = 0;
  if (destinations == 1 && !operands.empty()) {
    const Operand& first = operands[next++];
    if (first.kind == OperandKind::pair) {
      pending.set_dst(0, write(first.elements[0]));
      pending.set_dst(1, write(first.elements[1]));
    } else {
      const std::vector<Value> written = elements(first, Type::none, true);
      for (size_t k = 0; k < written.size() && k < pending.op.dst.size(); ++k) pending.set_dst(k, written[k]);
    }
  }
  for (size_t k = 0; next < operands.size() && k < pending.op.src.size(); ++next, ++k) {
    const Operand& operand = operands[next];
    const bool is_policy = instruction.modifiers.cache_hint && next + 1 == operands.size();
    if (operand.kind == OperandKind::address) {
      set_address(pending, k, operand);
    } else {
      pending.set_src(is_policy ? kPolicySource : k, read(operand, source_type(instruction, k)));
    }
  }
  emit(std::move(pending));
}

void FunctionLowering::lower_mov(const Instruction& instruction) {
  const Operand& to = instruction.operands[0];
  const Operand& from = instruction.operands[1];
  PendingOp pending = start(instruction);
  const unsigned bytes = type_bytes(instruction.modifiers.type);
  const auto part_type = [&](size_t parts) {
    const size_t part = parts == 0 ? bytes : bytes / parts;
    return part == 1 ? Type::b8 : part == 2 ? Type::b16 : part == 4 ? Type::b32 : Type::b64;
  };
  if (to.kind == OperandKind::vector && to.elements.size() > 1) {
    pending.op.opcode = Opcode::mov_unpack;
    const std::vector<Value> parts = elements(to, Type::none, true);
    for (size_t k = 0; k < parts.size() && k < pending.op.dst.size(); ++k) pending.set_dst(k, parts[k]);
    pending.set_src(0, read(from, instruction.modifiers.type));
  } else if (from.kind == OperandKind::vector && from.elements.size() > 1) {
    pending.op.opcode = Opcode::mov_pack;
    const std::vector<Value> parts = elements(from, part_type(from.elements.size()), false);
    pending.set_dst(0, write(to));
    for (size_t k = 0; k < parts.size() && k < pending.op.src.size(); ++k) pending.set_src(k, parts[k]);
  } else if (from.kind == OperandKind::special) {
    pending.op.opcode = Opcode::read_special;
    pending.set_dst(0, write(to));
    pending.set_src(0, constant(static_cast<uint64_t>(from.special)));
    pending.operands.reads_clock = is_clock(from.special);
  } else if (const bool is_symbol =
                 from.kind == OperandKind::identifier || from.kind == OperandKind::name_offset;
             is_symbol && address(from).in_frame) {
    const Address where = address(from);
    const Operand& base = from.kind == OperandKind::name_offset ? from.elements.front() : from;
    pending.op.opcode = Opcode::frame_address;
    pending.set_dst(0, write(to));
    pending.set_src(0, constant(frame_.offset_of(base.symbol) + static_cast<uint64_t>(where.offset)));
  } else {
    pending.set_dst(0, write(to));
    pending.set_src(0, read(from, instruction.modifiers.type));
  }
  emit(std::move(pending));
}

/// mov.v2 and mov.v4 move component by component.
void FunctionLowering::lower_vector_mov(const Instruction& instruction) {
  const std::vector<Value> to = elements(instruction.operands[0], Type::none, true);
  const std::vector<Value> from = elements(instruction.operands[1], instruction.modifiers.type, false);
  for (size_t k = 0; k < to.size() && k < from.size(); ++k) {
    PendingOp pending = start(instruction);
    pending.op.modifiers.vector = 1;
    pending.set_dst(0, to[k]);
    pending.set_src(0, from[k]);
    emit(std::move(pending));
  }
}

void FunctionLowering::lower_load(const Instruction& instruction) {
  PendingOp pending = start(instruction);
  const auto& operands = instruction.operands;
  const std::vector<Value> data = elements(operands[0], Type::none, true);
  if (data.size() > pending.op.dst.size()) return lower_not_executable(instruction);
  for (size_t k = 0; k < data.size(); ++k) pending.set_dst(k, data[k]);
  lower_access(pending, operands[1]);
  if (instruction.modifiers.cache_hint && operands.size() > 2)
    pending.set_src(kPolicySource, read(operands.back(), Type::b64));
  emit(std::move(pending));
}

void FunctionLowering::lower_store(const Instruction& instruction) {
  PendingOp pending = start(instruction);
  const auto& operands = instruction.operands;
  const std::vector<Value> data = elements(operands[1], instruction.modifiers.type, false);
  if (data.size() + 1 >= pending.op.src.size()) return lower_not_executable(instruction);
  lower_access(pending, operands[0]);
  for (size_t k = 0; k < data.size(); ++k) pending.set_src(k + 1, data[k]);
  if (instruction.modifiers.cache_hint && operands.size() > 2)
    pending.set_src(kPolicySource, read(operands.back(), Type::b64));
  emit(std::move(pending));
}

/// The address of a load or store; variables of the frame are reached relative to it.
void FunctionLowering::lower_access(PendingOp& pending, const Operand& operand) {
  const Address where = address(operand);
  pending.set_src(0, where.base);
  pending.op.offset = static_cast<int32_t>(where.offset);
  Modifiers& modifiers = pending.op.modifiers;
  if (where.in_frame) {
    pending.op.frame_relative = true;
    modifiers.space = Space::local;
    // Tells the static facts that this access is a call parameter and not memory traffic.
    modifiers.sub_space = where.is_parameter ? SubSpace::func : SubSpace::none;
  } else if (modifiers.space == Space::generic && where.space != Space::generic) {
    modifiers.space = where.space;  // a named variable is accessed where it lies
  } else if (modifiers.space == Space::param && !function_.is_entry) {
    modifiers.space = Space::local;  // through a register: parameters of a .func lie in its frame
  }
}

void FunctionLowering::append(PendingOp& pending, const std::vector<Value>& values) {
  for (const Value& value : values) {
    pending.list.slots.push_back(value.slot);
    pending.list.registers.push_back(value.reg);
  }
}

/// atom d, [a], b{, c}{, policy} and red [a], b{, policy}; vectors go to the operand list.
void FunctionLowering::lower_atomic(const Instruction& instruction) {
  PendingOp pending = start(instruction);
  const bool returns = instruction.opcode == Opcode::atom;
  const auto& operands = instruction.operands;
  const size_t first = returns ? 1 : 0;
  const size_t end = operands.size() - (instruction.modifiers.cache_hint ? 1 : 0);
  set_address(pending, 0, operands[first]);
  if (end < operands.size()) pending.set_src(kPolicySource, read(operands.back(), Type::b64));
  if (instruction.modifiers.vector > 1) {
    if (returns) append(pending, elements(operands[0], Type::none, true));
    pending.list.destinations = static_cast<uint32_t>(pending.list.slots.size());
    append(pending, elements(operands[first + 1], instruction.modifiers.type, false));
  } else {
    if (returns) pending.set_dst(0, write(operands[0]));
    for (size_t k = first + 1; k < end && k - first < 3; ++k)
      pending.set_src(k - first, read(operands[k], instruction.modifiers.type));
  }
  emit(std::move(pending));
}

/// bar.sync a{, b}; bar.arrive a, b; bar.red.op d, a{, b}, {!}c.
void FunctionLowering::lower_bar(const Instruction& instruction) {
  PendingOp pending = start(instruction);
  const auto& operands = instruction.operands;
  const BarrierAction action = instruction.modifiers.barrier;
  const bool reduces = action == BarrierAction::red_popc || action == BarrierAction::red_and ||
                       action == BarrierAction::red_or;
  size_t next = 0, end = operands.size();
  if (reduces && end >= 3) {
    pending.set_dst(0, write(operands[next++]));
    pending.set_src(2, read(operands[--end], Type::pred));
  }
  for (size_t k = 0; next < end && k < 2; ++k) pending.set_src(k, read(operands[next++], Type::u32));
  emit(std::move(pending));
}

/// mbarrier operations: {state or predicate,} [address]{, count | bytes | state | parity}{, suspend hint}.
void FunctionLowering::lower_mbarrier(const Instruction& instruction) {
  PendingOp pending = start(instruction);
  const auto& operands = instruction.operands;
  size_t next = 0;
  if (!operands.empty() && operands[0].kind != OperandKind::address)
    pending.set_dst(0, write(operands[next++]));
  for (size_t k = 0; next < operands.size() && k < 3; ++k, ++next) {
    if (operands[next].kind == OperandKind::address)
      set_address(pending, k, operands[next]);
    else
      pending.set_src(k, read(operands[next], Type::none));
  }
  emit(std::move(pending));
}

/// cp.async, cp.async.bulk, cp.reduce.async.bulk and the bulk prefetch: see the operand table in program.hpp.
void FunctionLowering::lower_copy(const Instruction& instruction) {
  PendingOp pending = start(instruction);
  const auto& operands = instruction.operands;
  const size_t end = operands.size() - (instruction.modifiers.cache_hint ? 1 : 0);
  for (size_t k = 0; k < end && k < kPolicySource; ++k) {
    if (operands[k].kind == OperandKind::address)
      set_address(pending, k, operands[k]);
    else
      pending.set_src(k, read(operands[k], Type::none));
  }
  if (end < operands.size()) pending.set_src(kPolicySource, read(operands.back(), Type::b64));
  emit(std::move(pending));
}

/// st.async and red.async are a store or a reduction in the shared memory of the cluster, and the bytes of it
/// told to a barrier that lies beside them.
void FunctionLowering::lower_async_access(const Instruction& instruction) {
  const auto& operands = instruction.operands;
  const Modifiers& m = instruction.modifiers;
  PendingOp access = start(instruction);
  access.op.opcode = instruction.opcode == Opcode::st_async ? Opcode::st : Opcode::red;
  access.op.modifiers.space = Space::shared;
  access.op.modifiers.sub_space = SubSpace::cluster;
  access.op.modifiers.completion = Completion::none;
  set_address(access, 0, operands[0]);
  const std::vector<Value> data = elements(operands[1], m.type, false);
  if (data.size() + 1 >= access.op.src.size()) return lower_not_executable(instruction);
  for (size_t k = 0; k < data.size(); ++k) access.set_src(k + 1, data[k]);
  emit(std::move(access));
  PendingOp told = start(instruction);
  told.op.opcode = Opcode::mbarrier_complete_tx;
  told.op.modifiers = Modifiers{};
  told.op.modifiers.type = Type::b64;
  told.op.modifiers.space = Space::shared;
  told.op.modifiers.sub_space = SubSpace::cluster;
  told.op.modifiers.completion = Completion::mbarrier;
  set_address(told, 0, operands[2]);
  told.set_src(1, constant(uint64_t{m.vector} * type_bytes(m.type)));
  emit(std::move(told));
}

void FunctionLowering::lower_branch(const Instruction& instruction) {
  PendingOp pending = start(instruction);
  pending.op.target =
      symbol(instruction.operands[0].symbol).instruction;  // becomes a position in resolve_branches
  emit(std::move(pending));
}

void FunctionLowering::lower_indexed_branch(const Instruction& instruction) {
  PendingOp pending = start(instruction);
  pending.set_src(0, read(instruction.operands[0], Type::u32));
  const Symbol& table = symbol(instruction.operands[1].symbol);
  for (const std::string_view name : table.targets)
    if (const Symbol* label = find_label(function_, name, table.scope); label != nullptr)
      pending.list.targets.push_back(label->instruction);
  emit(std::move(pending));
}

/// Keeps the place of an instruction that has no semantics yet: running into it is refused by name and line.
void FunctionLowering::lower_not_executable(const Instruction& instruction) {
  PendingOp pending = start(instruction);
  pending.op.executable = false;
  emit(std::move(pending));
}

void FunctionLowering::lower(const Instruction& instruction) {
  if (!instruction.executable) return lower_not_executable(instruction);
  switch (instruction.opcode) {
    case Opcode::mov:
    case Opcode::mov_pack:
    case Opcode::mov_unpack:
    case Opcode::read_special:
      return instruction.modifiers.vector > 1 ? lower_vector_mov(instruction) : lower_mov(instruction);
    case Opcode::ld:
    case Opcode::ldu:
      return lower_load(instruction);
    case Opcode::st:
      return lower_store(instruction);
    case Opcode::atom:
    case Opcode::red:
      return lower_atomic(instruction);
    case Opcode::st_async:
    case Opcode::red_async:
      return lower_async_access(instruction);
    case Opcode::bar:
      return lower_bar(instruction);
    case Opcode::mbarrier_arrive:
    case Opcode::mbarrier_arrive_drop:
    case Opcode::mbarrier_test_wait:
    case Opcode::mbarrier_try_wait:
    case Opcode::mbarrier_init:
    case Opcode::mbarrier_inval:
    case Opcode::mbarrier_expect_tx:
    case Opcode::mbarrier_complete_tx:
      return lower_mbarrier(instruction);
    case Opcode::cp_async:
    case Opcode::cp_async_bulk:
    case Opcode::cp_async_bulk_prefetch:
    case Opcode::cp_reduce_async_bulk:
      return lower_copy(instruction);
    case Opcode::cp_async_bulk_tensor:
    case Opcode::cp_reduce_async_bulk_tensor:
    case Opcode::cp_async_bulk_prefetch_tensor:
      return lower_tensor_copy(instruction);
    case Opcode::wgmma_mma_async:
      return lower_matrix_product(instruction);
    case Opcode::mma:
      return lower_warp_product(instruction);
    case Opcode::ldmatrix:
    case Opcode::stmatrix:
      return lower_matrix_move(instruction);
    case Opcode::tensormap_replace:
      return lower_tensormap_replace(instruction);
    case Opcode::tensormap_copy:
      return lower_copy(instruction);
    case Opcode::bra:
      return lower_branch(instruction);
    case Opcode::brx:
      return lower_indexed_branch(instruction);
    case Opcode::call:
      return lower_call(instruction);
    case Opcode::ret:
      return lower_return(instruction);
    default:
      return lower_plain(instruction, destination_count(instruction.opcode));
  }
}

}  // namespace ptxwire::ptx
