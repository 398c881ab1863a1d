#include "ptx_frontend/lower/folding.hpp"

#include <vector>

namespace ptxwire::ptx {
namespace {

/// Who reads and writes a register.
struct Use {
  uint32_t reads = 0;
  uint32_t as_address = 0;   ///< reads as the base of a load, store or atomic
  uint32_t in_wide_sum = 0;  ///< reads by a 64-bit addition
  uint32_t reader = 0;       ///< the latest reading op
  uint32_t writes = 0;
  uint32_t writer = 0;  ///< the latest writing op
};

bool is_wide(Type type) { return type_bytes(type) == 8; }

bool accesses_memory(Opcode opcode) {
  return opcode == Opcode::ld || opcode == Opcode::st || opcode == Opcode::atom || opcode == Opcode::red;
}

std::vector<Use> gather_uses(const VirtualCode& code) {
  std::vector<Use> uses(code.classes.size());
  for (uint32_t i = 0; i < code.ops.size(); ++i) {
    const Op& op = code.ops[i];
    const bool wide_sum =
        op.opcode == Opcode::add && is_wide(op.modifiers.type) && !is_float(op.modifiers.type);
    for_each_use(code, i, [&](VirtualRegister r) {
      ++uses[r].reads;
      uses[r].reader = i;
      if (wide_sum) ++uses[r].in_wide_sum;
    });
    for_each_definition(code, i, [&](VirtualRegister r) {
      ++uses[r].writes;
      uses[r].writer = i;
    });
    const VirtualRegister base = code.operands[i].src[0];
    if (accesses_memory(op.opcode) && base != kNoRegister) ++uses[base].as_address;
  }
  return uses;
}

void remove(Op& op) {
  op.latency = LatencyClass::none;
  op.issue_slots = 0;
}

bool has_constant(const Op& op) {
  return op.src[0].kind == Slot::Kind::constant || op.src[1].kind == Slot::Kind::constant;
}

/// 32-bit integer product with a single reader, a sum: one IMAD does both.
bool fold_product(VirtualCode& code, Op& op, const Use& use) {
  if (op.opcode != Opcode::mul || op.modifiers.half == HalfSelect::hi || is_float(op.modifiers.type) ||
      is_wide(op.modifiers.type) || use.reads != 1)
    return false;
  Op& sum = code.ops[use.reader];
  if (sum.opcode != Opcode::add || is_float(sum.modifiers.type)) return false;
  sum.latency = op.latency;
  sum.issue_slots = 1;
  return true;
}

/// Logic of two predicates of which one comes from a comparison that nothing else reads.
bool fold_predicate_logic(const VirtualCode& code, uint32_t i, const std::vector<Use>& uses) {
  const Op& op = code.ops[i];
  const bool logic = op.opcode == Opcode::and_op || op.opcode == Opcode::or_op || op.opcode == Opcode::xor_op;
  if (!logic || op.modifiers.type != Type::pred) return false;
  for (size_t k = 0; k < 2; ++k) {
    const VirtualRegister source = code.operands[i].src[k];
    if (source == kNoRegister || uses[source].reads != 1 || uses[source].writes != 1) continue;
    if (code.ops[uses[source].writer].opcode == Opcode::setp) return true;
  }
  return false;
}

}  // namespace

void fold_instructions(VirtualCode& code) {
  const std::vector<Use> uses = gather_uses(code);
  for (uint32_t i = 0; i < code.ops.size(); ++i) {
    Op& op = code.ops[i];
    const VirtualRegister result = code.operands[i].dst[0];
    if (result == kNoRegister) continue;
    const Use& use = uses[result];
    if (use.writes != 1 || use.reads == 0) continue;
    const bool into_address = op.opcode == Opcode::add && is_wide(op.modifiers.type) && has_constant(op) &&
                              use.reads == use.as_address;
    const bool into_sums = op.opcode == Opcode::shl && is_wide(op.modifiers.type) &&
                           op.src[1].kind == Slot::Kind::constant && use.reads == use.in_wide_sum;
    if (op.guard.present()) continue;
    if (into_address || into_sums || fold_product(code, op, use) || fold_predicate_logic(code, i, uses))
      remove(op);
  }
}

}  // namespace ptxwire::ptx
