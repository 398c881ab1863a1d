// A Program made ready for one GPU: functions chosen for every op, operands to wait for, times in cycles,
// constants with the addresses of this GPU, broadcast to lanes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "models/machines/machine.hpp"
#include "ptx_frontend/program.hpp"
#include "sim/exec/lane_ops.hpp"

namespace ptxwire::sim {

/// How the core treats an op. `lane`: LaneOp on registers, nothing else.
enum class ExecKind : uint8_t {
  lane,
  warp_exchange,
  read_special,
  frame_address,
  cvta,
  cluster_address,
  branch,
  branch_indexed,
  call,
  ret,
  exit,
  trap,
  nop,
  nanosleep,
  load,
  store,
  atomic,
  reduction,
  fence,
  barrier,
  warp_barrier,
  cluster_barrier,
  mbarrier,
  mbarrier_wait,
  cp_async,
  cp_async_control,
  bulk_copy,
  bulk_control,
  tensor_copy,
  tensor_prefetch,
  tensor_map_change,
  matrix_product,
  matrix_control,
  warp_matrix,
  grid_dependency,
  hint,  ///< no effect here
  cache_control,
  refused,
};

/// What the issue loop reads; the full Op stays in Program::code.
struct ExecOp {
  static constexpr size_t kMaxWaits = 20;  // atom.v8: address, policy, eight old values, eight operands
  LaneOp lane_op = nullptr;
  ExecKind kind = ExecKind::refused;
  uint8_t issue_slots = 1;
  uint8_t pipe = 0;           ///< 0: none beyond the issue port; 1..: index into the scheduler's pipes
  uint8_t pipe_interval = 0;  ///< cycles of that pipe
  uint16_t latency = 0;       ///< issue to result, cycles
  uint8_t waits = 0;          ///< registers to be ready before issue (sources and destinations)
  uint8_t predicate_waits = 0;
  uint8_t results = 0, predicate_results = 0;
  bool guarded = false, guard_negated = false;
  bool in_poll_loop = false;
  bool only_waits = false;  ///< in a poll loop that reads no clock and whose turns are all alike
  uint16_t guard = 0;
  uint32_t poll_loop = UINT32_MAX;  ///< of a back edge: index into Program::poll_loops
  /// Rows in the order: `waits` sources and destinations. Wide sources count once (first row), wide
  /// destinations with all rows, since a dead neighbour may still be in flight.
  std::array<uint16_t, kMaxWaits> wait_rows{};
  std::array<uint16_t, 4> predicate_rows{};
  std::array<uint16_t, 8> result_rows{};
  std::array<uint16_t, 2> predicate_result_rows{};
};

/// Pipes of one scheduler that a warp instruction may hold for more than its issue cycle.
enum Pipe : uint8_t { kNoPipe = 0, kIntegerPipe, kFloatPipe, kSlowPipe, kPipeCount };

class ExecProgram {
 public:
  /// `addresses[v]` is the device address (or constant-bank offset) of Program::variables[v] on this GPU.
  ExecProgram(std::shared_ptr<const ptx::Program> program, const models::SmParameters& sm,
              std::vector<uint64_t> addresses, std::vector<uint8_t> constant_bank);

  [[nodiscard]] const ptx::Program& program() const { return *program_; }
  [[nodiscard]] const ExecOp& op(uint32_t pc) const { return ops_[pc]; }
  [[nodiscard]] const std::vector<uint8_t>& constant_bank() const { return constant_bank_; }
  [[nodiscard]] uint64_t address(uint32_t variable) const { return addresses_[variable]; }

  /// Constants of a launch, broadcast; they differ between functions only in where dynamic shared memory
  /// starts.
  struct ConstantLanes {
    std::vector<uint32_t> narrow;  ///< 32 lanes each
    std::vector<uint64_t> wide;
  };
  /// Lanes for a launch whose dynamic shared memory starts at `dynamic_shared_offset`.
  [[nodiscard]] std::shared_ptr<const ConstantLanes> constants(uint32_t dynamic_shared_offset);

  /// Value of a code handle for an indirect call, and back (UINT32_MAX if it is none).
  static uint64_t function_handle(uint32_t function) { return kFunctionHandle + 16ULL * function; }
  [[nodiscard]] uint32_t function_of_handle(uint64_t handle) const;

 private:
  static constexpr uint64_t kFunctionHandle = 7ULL << 36;
  void decode(uint32_t pc, const models::SmParameters& sm);
  /// Registers of an operand list, of which the first `destinations` are written.
  void add_list(ExecOp& exec, const ptx::Op& op, size_t destinations) const;

  std::shared_ptr<const ptx::Program> program_;
  std::vector<uint64_t> addresses_;
  std::vector<uint8_t> constant_bank_;
  std::vector<ExecOp> ops_;
  std::vector<std::pair<uint32_t, std::shared_ptr<const ConstantLanes>>> constant_lanes_;
};

}  // namespace ptxwire::sim
