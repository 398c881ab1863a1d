#include "sim/exec/exec_program.hpp"

#include <algorithm>

namespace ptxwire::sim {
namespace {

using models::OperationClass;
using ptx::LatencyClass;
using ptx::Opcode;
using ptx::Slot;

OperationClass operation_class(LatencyClass latency) {
  switch (latency) {
    case LatencyClass::none:
    case LatencyClass::alu:
      return OperationClass::alu;
    case LatencyClass::imad:
      return OperationClass::imad;
    case LatencyClass::imad_wide:
      return OperationClass::imad_wide;
    case LatencyClass::fp32:
      return OperationClass::fp32;
    case LatencyClass::fp16:
      return OperationClass::fp16;
    case LatencyClass::fp64:
      return OperationClass::fp64;
    case LatencyClass::sfu:
      return OperationClass::sfu;
    case LatencyClass::conversion:
      return OperationClass::conversion;
    case LatencyClass::division:
      return OperationClass::division;
    case LatencyClass::shuffle:
      return OperationClass::shuffle;
    case LatencyClass::vote:
      return OperationClass::vote;
    case LatencyClass::redux:
      return OperationClass::redux;
    case LatencyClass::match:
      return OperationClass::match;
    case LatencyClass::branch:
      return OperationClass::branch;
    case LatencyClass::barrier:
      return OperationClass::barrier;
    case LatencyClass::special_register:
      return OperationClass::special_register;
    case LatencyClass::memory:
      return OperationClass::memory;
    case LatencyClass::fence:
      return OperationClass::fence;
    case LatencyClass::control:
    case LatencyClass::count:
      break;
  }
  return OperationClass::control;
}

Pipe pipe_of(LatencyClass latency) {
  switch (latency) {
    case LatencyClass::alu:
    case LatencyClass::imad:
    case LatencyClass::imad_wide:
      return kIntegerPipe;
    case LatencyClass::fp32:
    case LatencyClass::fp16:
      return kFloatPipe;
    case LatencyClass::fp64:
    case LatencyClass::sfu:
    case LatencyClass::conversion:
    case LatencyClass::division:
    case LatencyClass::shuffle:
    case LatencyClass::vote:
    case LatencyClass::redux:
    case LatencyClass::match:
      return kSlowPipe;
    default:
      return kNoPipe;
  }
}

ExecKind kind_of(Opcode opcode) {
  switch (opcode) {
    case Opcode::read_special:
      return ExecKind::read_special;
    case Opcode::frame_address:
      return ExecKind::frame_address;
    case Opcode::cvta:
    case Opcode::isspacep:
      return ExecKind::cvta;
    case Opcode::mapa:
    case Opcode::getctarank:
      return ExecKind::cluster_address;
    case Opcode::bra:
      return ExecKind::branch;
    case Opcode::brx:
      return ExecKind::branch_indexed;
    case Opcode::call:
      return ExecKind::call;
    case Opcode::ret:
      return ExecKind::ret;
    case Opcode::exit:
      return ExecKind::exit;
    case Opcode::trap:
    case Opcode::brkpt:
      return ExecKind::trap;
    case Opcode::nop:
      return ExecKind::nop;
    case Opcode::nanosleep:
      return ExecKind::nanosleep;
    case Opcode::ld:
    case Opcode::ldu:
      return ExecKind::load;
    case Opcode::st:
      return ExecKind::store;
    case Opcode::atom:
      return ExecKind::atomic;
    case Opcode::red:
      return ExecKind::reduction;
    case Opcode::fence:
      return ExecKind::fence;
    case Opcode::bar:
      return ExecKind::barrier;
    case Opcode::bar_warp_sync:
      return ExecKind::warp_barrier;
    case Opcode::barrier_cluster:
      return ExecKind::cluster_barrier;
    case Opcode::mbarrier_init:
    case Opcode::mbarrier_inval:
    case Opcode::mbarrier_expect_tx:
    case Opcode::mbarrier_complete_tx:
    case Opcode::mbarrier_arrive:
    case Opcode::mbarrier_arrive_drop:
    case Opcode::mbarrier_pending_count:
      return ExecKind::mbarrier;
    case Opcode::mbarrier_test_wait:
    case Opcode::mbarrier_try_wait:
      return ExecKind::mbarrier_wait;
    case Opcode::cp_async:
      return ExecKind::cp_async;
    case Opcode::cp_async_commit_group:
    case Opcode::cp_async_wait_group:
    case Opcode::cp_async_wait_all:
    case Opcode::cp_async_mbarrier_arrive:
      return ExecKind::cp_async_control;
    case Opcode::cp_async_bulk:
    case Opcode::cp_reduce_async_bulk:
      return ExecKind::bulk_copy;
    case Opcode::cp_async_bulk_commit_group:
    case Opcode::cp_async_bulk_wait_group:
      return ExecKind::bulk_control;
    case Opcode::cp_async_bulk_tensor:
    case Opcode::cp_reduce_async_bulk_tensor:
      return ExecKind::tensor_copy;
    case Opcode::cp_async_bulk_prefetch_tensor:
      return ExecKind::tensor_prefetch;
    case Opcode::tensormap_replace:
    case Opcode::tensormap_copy:
      return ExecKind::tensor_map_change;
    case Opcode::mma:
    case Opcode::ldmatrix:
    case Opcode::stmatrix:
      return ExecKind::warp_matrix;
    case Opcode::wgmma_mma_async:
      return ExecKind::matrix_product;
    case Opcode::wgmma_fence:
    case Opcode::wgmma_commit_group:
    case Opcode::wgmma_wait_group:
      return ExecKind::matrix_control;
    case Opcode::griddepcontrol_wait:
    case Opcode::griddepcontrol_launch_dependents:
      return ExecKind::grid_dependency;
    case Opcode::prefetch:
    case Opcode::discard:
    case Opcode::applypriority:
    case Opcode::cp_async_bulk_prefetch:
      return ExecKind::cache_control;
    case Opcode::setmaxnreg_inc:
    case Opcode::setmaxnreg_dec:
      return ExecKind::hint;
    case Opcode::shfl:
    case Opcode::vote:
    case Opcode::match:
    case Opcode::redux:
    case Opcode::activemask:
    case Opcode::elect:
      return ExecKind::warp_exchange;
    default:
      return ExecKind::refused;
  }
}

void add_wait(ExecOp& exec, const Slot& slot) {
  if (slot.kind == Slot::Kind::reg && exec.waits < ExecOp::kMaxWaits)
    exec.wait_rows[exec.waits++] = slot.index;
  if (slot.kind == Slot::Kind::predicate && exec.predicate_waits < exec.predicate_rows.size())
    exec.predicate_rows[exec.predicate_waits++] = slot.index;
}

void add_destination(ExecOp& exec, const Slot& slot) {
  add_wait(exec, slot);
  if (slot.kind == Slot::Kind::reg) {
    for (uint16_t row = 1; row < slot.rows; ++row)
      add_wait(exec, Slot{static_cast<uint16_t>(slot.index + row), Slot::Kind::reg});
    for (uint16_t row = 0; row < slot.rows && exec.results < exec.result_rows.size(); ++row)
      exec.result_rows[exec.results++] = static_cast<uint16_t>(slot.index + row);
  }
  if (slot.kind == Slot::Kind::predicate && exec.predicate_results < 2)
    exec.predicate_result_rows[exec.predicate_results++] = slot.index;
}

}  // namespace

ExecProgram::ExecProgram(std::shared_ptr<const ptx::Program> program, const models::SmParameters& sm,
                         std::vector<uint64_t> addresses, std::vector<uint8_t> constant_bank)
    : program_(std::move(program)),
      addresses_(std::move(addresses)),
      constant_bank_(std::move(constant_bank)) {
  ops_.resize(program_->code.size());
  for (uint32_t pc = 0; pc < ops_.size(); ++pc) decode(pc, sm);
  for (uint32_t i = 0; i < program_->poll_loops.size(); ++i) {
    const ptx::PollLoop& loop = program_->poll_loops[i];
    if (loop.back_edge < ops_.size()) ops_[loop.back_edge].poll_loop = i;
    for (const auto& [begin, end] : loop.body) {
      for (uint32_t pc = begin; pc < end; ++pc) {
        ops_[pc].in_poll_loop = true;
        ops_[pc].only_waits = !loop.reads_clock && loop.state.empty();
      }
    }
  }
}

void ExecProgram::decode(uint32_t pc, const models::SmParameters& sm) {
  const ptx::Op& op = program_->code[pc];
  ExecOp& exec = ops_[pc];
  const models::OperationTiming timing = sm.timing[static_cast<size_t>(operation_class(op.latency))];
  exec.kind = kind_of(op.opcode);
  if (exec.kind == ExecKind::refused || exec.kind == ExecKind::warp_exchange) {
    exec.lane_op = select_lane_op(op);
    if (exec.lane_op == nullptr) {
      exec.kind = ExecKind::refused;
    } else if (exec.kind == ExecKind::refused) {
      exec.kind = ExecKind::lane;
    }
  }
  if (!op.executable) exec.kind = ExecKind::refused;
  exec.issue_slots = op.issue_slots;
  exec.latency = static_cast<uint16_t>(
      op.issue_slots == 0 ? 0 : timing.latency_clk + (op.issue_slots - 1) * timing.interval_clk);
  const uint32_t interval = op.issue_slots * timing.interval_clk;
  if (op.issue_slots != 0 && interval > 1 && pipe_of(op.latency) != kNoPipe) {
    exec.pipe = pipe_of(op.latency);
    exec.pipe_interval = static_cast<uint8_t>(std::min<uint32_t>(interval, 255));
  }
  if (op.guard.present()) {
    exec.guarded = true;
    exec.guard = op.guard.index;
    exec.guard_negated = op.guard.negated;
    add_wait(exec, op.guard);
  }
  for (const Slot& slot : op.src) add_wait(exec, slot);
  for (const Slot& slot : op.dst) add_destination(exec, slot);
  if (exec.kind == ExecKind::tensor_copy || exec.kind == ExecKind::tensor_prefetch)
    for (const Slot& coordinate : program_->operand_lists[op.operand_list]) add_wait(exec, coordinate);
  const bool atomic = exec.kind == ExecKind::atomic || exec.kind == ExecKind::reduction;
  if (op.opcode == Opcode::mma) {
    add_list(exec, op, op.modifiers.type == ptx::Type::f16 ? 2 : 4);
  } else if (atomic && op.modifiers.vector > 1) {
    add_list(exec, op, program_->operand_lists[op.operand_list].size() - op.modifiers.vector);
  }
}

void ExecProgram::add_list(ExecOp& exec, const ptx::Op& op, size_t destinations) const {
  const std::vector<Slot>& list = program_->operand_lists[op.operand_list];
  for (size_t i = 0; i < list.size(); ++i) {
    if (i < destinations) {
      add_destination(exec, list[i]);
    } else {
      add_wait(exec, list[i]);
    }
  }
}

std::shared_ptr<const ExecProgram::ConstantLanes> ExecProgram::constants(uint32_t dynamic_shared_offset) {
  for (const auto& [offset, lanes] : constant_lanes_)
    if (offset == dynamic_shared_offset) return lanes;
  auto lanes = std::make_shared<ConstantLanes>();
  lanes->narrow.reserve(program_->constants.size() * 32);
  lanes->wide.reserve(program_->constants.size() * 32);
  for (const ptx::Constant& constant : program_->constants) {
    uint64_t value = constant.value;
    switch (constant.relocation) {
      case ptx::RelocationKind::none:
        break;
      case ptx::RelocationKind::global:
      case ptx::RelocationKind::constant:
        value += addresses_[constant.symbol];
        break;
      case ptx::RelocationKind::function:
        value += function_handle(constant.symbol);
        break;
      case ptx::RelocationKind::shared_dynamic:
        value += dynamic_shared_offset;
        break;
    }
    lanes->narrow.insert(lanes->narrow.end(), 32, static_cast<uint32_t>(value));
    lanes->wide.insert(lanes->wide.end(), 32, value);
  }
  constant_lanes_.emplace_back(dynamic_shared_offset, lanes);
  return lanes;
}

uint32_t ExecProgram::function_of_handle(uint64_t handle) const {
  if (handle < kFunctionHandle || (handle - kFunctionHandle) % 16 != 0) return UINT32_MAX;
  const uint64_t index = (handle - kFunctionHandle) / 16;
  return index < program_->functions.size() ? static_cast<uint32_t>(index) : UINT32_MAX;
}

}  // namespace ptxwire::sim
