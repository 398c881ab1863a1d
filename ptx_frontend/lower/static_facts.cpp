#include "ptx_frontend/lower/static_facts.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "ptx_frontend/lower/folding.hpp"

namespace ptxwire::ptx {
namespace {

struct Facts {
  LatencyClass latency = LatencyClass::alu;
  uint8_t slots = 1;
};

bool is_half(Type type) {
  return type == Type::f16 || type == Type::f16x2 || type == Type::bf16 || type == Type::bf16x2;
}

bool is_wide(Type type) { return type_bytes(type) == 8; }

Facts float_facts(Type type, uint8_t slots_of_pair = 1) {
  if (type == Type::f64) return {LatencyClass::fp64, 1};
  if (is_half(type)) return {LatencyClass::fp16, 1};
  return {LatencyClass::fp32, type == Type::f32x2 ? uint8_t{2} : slots_of_pair};
}

Facts add_facts(const Op& op) {
  const Type type = op.modifiers.type;
  if (is_float(type) || type == Type::f32x2) return float_facts(type);
  if (is_wide(type)) return {LatencyClass::imad, 2};  // low half, then high half with carry
  return {LatencyClass::alu, 1};
}

Facts multiply_facts(const Op& op) {
  const Type type = op.modifiers.type;
  if (is_float(type) || type == Type::f32x2) return float_facts(type);
  if (op.modifiers.half == HalfSelect::wide)
    return type_bytes(type) == 4 ? Facts{LatencyClass::imad_wide, 1} : Facts{LatencyClass::imad, 1};
  if (is_wide(type))
    return {LatencyClass::imad_wide, op.modifiers.half == HalfSelect::hi ? uint8_t{8} : uint8_t{4}};
  if (op.modifiers.half == HalfSelect::hi) return {LatencyClass::imad_wide, 1};
  return {LatencyClass::imad, 1};
}

/// IEEE results are refined in software from an approximation; integers go through a float reciprocal, signed
/// ones by way of magnitudes. Integer counts are those of ptxas 13 for one division of two registers; those
/// of 64 bits are a subroutine.
Facts divide_facts(const Op& op) {
  const Type type = op.modifiers.type;
  if (type == Type::f64) return {LatencyClass::division, 24};
  if (type == Type::f32) {
    if (op.modifiers.approx || op.modifiers.full) return {LatencyClass::sfu, 2};
    return {LatencyClass::division, 10};
  }
  const bool quotient = op.opcode == Opcode::div, is_signed = !is_unsigned_integer(type);
  if (is_wide(type))
    return {LatencyClass::division,
            quotient ? (is_signed ? uint8_t{88} : uint8_t{73}) : (is_signed ? uint8_t{82} : uint8_t{69})};
  return {LatencyClass::division,
          quotient ? (is_signed ? uint8_t{22} : uint8_t{17}) : (is_signed ? uint8_t{20} : uint8_t{16})};
}

Facts root_facts(const Op& op) {
  if (op.modifiers.type == Type::f64) return {LatencyClass::division, 20};
  if (op.modifiers.approx) return {LatencyClass::sfu, op.modifiers.ftz ? uint8_t{1} : uint8_t{2}};
  return {LatencyClass::division, 8};
}

Facts convert_facts(const Op& op) {
  const Type to = op.modifiers.type, from = op.modifiers.source_type;
  const bool integers = !is_float(to) && !is_float(from) && type_bytes(from) != 0;
  if (integers && !op.modifiers.sat) {
    if (type_bytes(to) <= type_bytes(from) && type_bytes(to) >= 4)
      return {LatencyClass::none, 0};  // truncation
    if (is_wide(to) && is_unsigned_integer(from) && type_bytes(from) == 4) return {LatencyClass::none, 0};
    return {LatencyClass::alu, 1};
  }
  if (is_half(to) || is_half(from)) return {LatencyClass::alu, 1};  // bf16 is a shift, packing is one F2F
  return {LatencyClass::conversion, 1};
}

/// Before a release: four dummy reads of shared memory and two MEMBAR at system scope, one MEMBAR at the
/// others, then ERRBAR and CGAERRBAR. CCTL.IVALL follows an acquire.
uint8_t release_slots(Scope scope) { return scope == Scope::sys ? 8 : 3; }

/// A bulk copy takes its operands from uniform registers, and these may differ between threads: per turn of a
/// loop a thread is elected, five operands move (R2UR), the predicate shrinks, the copy is issued.
constexpr uint8_t kBulkCopySlots = 13;

/// Ordered accesses come with the instructions of their fences. A 32-bit address of the cluster's shared
/// memory is made a generic one, by a move of either half.
Facts memory_facts(const Op& op) {
  if (op.frame_relative && op.modifiers.sub_space == SubSpace::func) return {LatencyClass::alu, 1};
  const bool bulk = op.opcode == Opcode::cp_async_bulk || op.opcode == Opcode::cp_reduce_async_bulk ||
                    op.opcode == Opcode::cp_async_bulk_tensor ||
                    op.opcode == Opcode::cp_reduce_async_bulk_tensor;
  if (bulk) return {LatencyClass::memory, kBulkCopySlots};
  const bool near = op.modifiers.space == Space::shared || op.modifiers.scope == Scope::cta;
  const bool plain = op.opcode == Opcode::ld || op.opcode == Opcode::st || op.opcode == Opcode::atom ||
                     op.opcode == Opcode::red;
  const Order order = op.modifiers.order;
  uint8_t slots = 1;
  if (plain && !near && (order == Order::release || order == Order::acq_rel))
    slots += release_slots(op.modifiers.scope);
  if (plain && !near && (order == Order::acquire || order == Order::acq_rel)) slots += 1;
  if (plain && op.modifiers.space == Space::shared && op.modifiers.sub_space == SubSpace::cluster) slots += 2;
  return {LatencyClass::memory, slots};
}

/// The code asks first whether it was launched with a cluster (BRA before and after); arriving releases,
/// waiting acquires.
Facts cluster_barrier_facts(const Op& op) {
  const bool relaxed = op.modifiers.order == Order::relaxed;
  if (op.modifiers.barrier == BarrierAction::arrive)
    return {LatencyClass::barrier, relaxed ? uint8_t{3} : uint8_t{6}};
  return {LatencyClass::barrier, 4};
}

/// A barrier named by a register has its number and count packed into one word.
Facts barrier_facts(const Op& op) {
  const bool computed = op.src[0].kind == Slot::Kind::reg || op.src[1].kind == Slot::Kind::reg;
  return {LatencyClass::barrier, computed ? uint8_t{4} : uint8_t{1}};
}

Facts facts_of(const Op& op) {
  const Type type = op.modifiers.type;
  const uint8_t integer_slots = is_wide(type) ? 2 : 1;
  switch (op.opcode) {
    case Opcode::mov:
      // A constant has to be put somewhere, a register is renamed.
      return op.src[0].kind == Slot::Kind::constant ? Facts{LatencyClass::alu, integer_slots}
                                                    : Facts{LatencyClass::none, 0};
    case Opcode::mov_pack:
    case Opcode::mov_unpack: {
      // Halves of a pair are registers of their own; 8- and 16-bit parts have to be permuted in.
      const bool narrow = op.opcode == Opcode::mov_pack ? op.src[2].present() || !is_wide(type)
                                                        : op.dst[2].present() || !is_wide(type);
      return narrow && type != Type::b128 ? Facts{LatencyClass::alu, 1} : Facts{LatencyClass::none, 0};
    }
    case Opcode::read_special:
      return {LatencyClass::special_register, 1};
    case Opcode::frame_address:
      return {LatencyClass::alu, 1};
    case Opcode::cvta:
      // Global addresses are generic ones; shared and local need the window base.
      return op.modifiers.space == Space::global ? Facts{LatencyClass::none, 0} : Facts{LatencyClass::alu, 1};
    case Opcode::isspacep:
    case Opcode::mapa:
    case Opcode::getctarank:
      return {LatencyClass::alu, 2};
    case Opcode::add:
    case Opcode::sub:
      return add_facts(op);
    case Opcode::mul:
    case Opcode::mad:
    case Opcode::fma:
      return multiply_facts(op);
    case Opcode::mul24:
    case Opcode::mad24:
    case Opcode::dp4a:
    case Opcode::dp2a:
      return {LatencyClass::imad, 1};
    case Opcode::div:
    case Opcode::rem:
      return divide_facts(op);
    case Opcode::rcp:
    case Opcode::sqrt:
    case Opcode::rsqrt:
      return root_facts(op);
    case Opcode::sin:
    case Opcode::cos:
    case Opcode::lg2:
    case Opcode::ex2:
    case Opcode::tanh:
      return {LatencyClass::sfu, op.modifiers.ftz ? uint8_t{1} : uint8_t{2}};
    case Opcode::abs:
    case Opcode::neg:
      if (is_float(type)) return {float_facts(type).latency, 1};
      return {LatencyClass::alu, integer_slots};
    case Opcode::min:
    case Opcode::max:
      if (is_half(type)) return {LatencyClass::fp16, 1};
      return {LatencyClass::alu, is_wide(type) ? uint8_t{4} : uint8_t{1}};
    case Opcode::popc:
    case Opcode::clz:
    case Opcode::bfind:
    case Opcode::brev:
      return {LatencyClass::conversion, is_wide(type) ? uint8_t{3} : uint8_t{1}};
    case Opcode::bfe:
    case Opcode::bfi:
      return {LatencyClass::alu, is_wide(type) ? uint8_t{6} : uint8_t{2}};
    case Opcode::fns:
      return {LatencyClass::alu, 16};
    case Opcode::shl:
    case Opcode::shr:
      return {LatencyClass::alu, integer_slots};
    case Opcode::set:
    case Opcode::setp: {
      const Type compared = op.modifiers.source_type == Type::none ? type : op.modifiers.source_type;
      if (compared == Type::f64) return {LatencyClass::fp64, 1};
      return {LatencyClass::alu, is_wide(compared) ? uint8_t{2} : uint8_t{1}};
    }
    case Opcode::and_op:
    case Opcode::or_op:
    case Opcode::xor_op:
    case Opcode::not_op:
    case Opcode::cnot:
    case Opcode::selp:
    case Opcode::slct:
      return {LatencyClass::alu, integer_slots};
    case Opcode::cvt:
    case Opcode::cvt_pack:
      return convert_facts(op);
    case Opcode::createpolicy:
      return {LatencyClass::conversion, 2};
    case Opcode::bra:
    case Opcode::brx:
    case Opcode::call:
    case Opcode::ret:
    case Opcode::exit:
      return {LatencyClass::branch, 1};
    case Opcode::trap:
    case Opcode::brkpt:
    case Opcode::nanosleep:
    case Opcode::griddepcontrol_wait:
    case Opcode::griddepcontrol_launch_dependents:
    case Opcode::setmaxnreg_inc:
    case Opcode::setmaxnreg_dec:
      return {LatencyClass::control, 1};
    case Opcode::nop:
      return {LatencyClass::none, 0};
    case Opcode::fence:
      if (op.modifiers.scope == Scope::cta) return {LatencyClass::fence, 1};
      return {LatencyClass::fence, static_cast<uint8_t>(release_slots(op.modifiers.scope) + 1)};
    case Opcode::bar:
      return barrier_facts(op);
    case Opcode::bar_warp_sync:
      return {LatencyClass::barrier, 1};
    case Opcode::barrier_cluster:
      return cluster_barrier_facts(op);
    case Opcode::shfl:
      return {LatencyClass::shuffle, 1};
    case Opcode::vote:
    case Opcode::activemask:
    case Opcode::elect:
      return {LatencyClass::vote, 1};
    case Opcode::match:
      return {LatencyClass::match, 1};
    case Opcode::redux:
      return {LatencyClass::redux, 1};
    case Opcode::mma:
      return {LatencyClass::control, 1};
    case Opcode::ldmatrix:
    case Opcode::stmatrix:
      return {LatencyClass::memory, 1};
    case Opcode::wgmma_mma_async:
      return {LatencyClass::control, 2};  // HGMMA, and a descriptor on its way to a uniform register
    case Opcode::wgmma_fence:
    case Opcode::wgmma_wait_group:
      return {LatencyClass::control, 1};
    case Opcode::wgmma_commit_group:
      return {LatencyClass::none, 0};  // a bit of the last HGMMA
    default:
      break;
  }
  const bool touches_memory = op.opcode >= Opcode::ld && op.opcode <= Opcode::mbarrier_pending_count;
  return touches_memory ? memory_facts(op) : Facts{LatencyClass::alu, 1};
}

}  // namespace

bool moves_registers(const VirtualCode& code) {
  return std::any_of(code.ops.begin(), code.ops.end(), [](const Op& op) {
    return op.opcode == Opcode::setmaxnreg_inc || op.opcode == Opcode::setmaxnreg_dec;
  });
}

void annotate_static_facts(VirtualCode& code) {
  for (Op& op : code.ops) {
    const Facts facts = facts_of(op);
    op.latency = facts.latency;
    op.issue_slots = facts.slots;
  }
  fold_instructions(code);
}

namespace {

/// Instructions out of line for operands that an IEEE division or root in line does not treat (subnormal
/// ones), there once for all ops of the kind; as ptxas 13 has them.
uint32_t slow_path_size(const Op& op) {
  if (op.latency != LatencyClass::division) return 0;
  const bool is_double = op.modifiers.type == Type::f64;
  if (!is_double && op.modifiers.type != Type::f32) return 0;
  switch (op.opcode) {
    case Opcode::div:
      return is_double ? 90 : 102;
    case Opcode::rcp:
      return 53;
    case Opcode::sqrt:
      return is_double ? 45 : 26;
    default:
      return 0;
  }
}

}  // namespace

uint32_t estimate_code_size(const VirtualCode& code, uint32_t beyond_slots) {
  // The stack pointer and the memory descriptor come from the constant bank; a branch to itself ends the
  // code.
  constexpr uint32_t kFrame = 3;
  constexpr uint32_t kCallOfDivision = 5;
  uint32_t size = kFrame + beyond_slots;
  std::set<std::pair<Opcode, Type>> out_of_line;
  for (const Op& op : code.ops) {
    size += op.issue_slots;
    const std::pair<Opcode, Type> kind{op.opcode, op.modifiers.type};
    if (const uint32_t slow = slow_path_size(op); slow != 0 && out_of_line.insert(kind).second) size += slow;
    const bool integer_division =
        op.latency == LatencyClass::division && is_wide(op.modifiers.type) && !is_float(op.modifiers.type);
    if (!integer_division) continue;
    size += kCallOfDivision;
    if (!out_of_line.insert(kind).second) size -= op.issue_slots;
  }
  return size;
}

uint32_t estimate_registers(uint32_t peak_live, const LaunchDirectives& directives, bool moves_registers) {
  constexpr uint32_t kFloor = 16, kCeiling = 255, kFile = 65536, kStep = 8;
  const auto rounded_up = [](uint32_t n) { return (n + kStep - 1) / kStep * kStep; };
  uint32_t limit = kCeiling;
  if (directives.maxnreg != 0) limit = std::min(limit, directives.maxnreg);
  const uint32_t* block = directives.reqntid[0] != 0 ? directives.reqntid : directives.maxntid;
  if (block[0] != 0) {
    // A scheduler has a quarter of the register file, and a CTA's warps are dealt out to the four.
    constexpr uint64_t kSchedulers = 4, kLanes = 32;
    const uint64_t threads =
        static_cast<uint64_t>(block[0]) * std::max(1U, block[1]) * std::max(1U, block[2]);
    const uint64_t warps = (threads + kLanes - 1) / kLanes;
    const uint64_t warps_of_scheduler = std::max<uint64_t>(
        1, (warps + kSchedulers - 1) / kSchedulers * std::max(1U, directives.minnctapersm));
    const uint64_t share = kFile / kSchedulers / warps_of_scheduler / kLanes;
    limit = std::min(limit, std::max(kFloor, static_cast<uint32_t>(share) / kStep * kStep));
  }
  if (moves_registers && limit != kCeiling) return limit;
  return std::min(limit, std::max(kFloor, rounded_up(peak_live + peak_live / 10)));
}

}  // namespace ptxwire::ptx
