// One function of the tree -> VirtualCode: operands become slots, calls become call sites, branches get
// positions.
#pragma once

#include <vector>

#include "ptx_frontend/link/linked_image.hpp"
#include "ptx_frontend/lower/constant_pool.hpp"
#include "ptx_frontend/lower/frame_layout.hpp"
#include "ptx_frontend/lower/virtual_code.hpp"
#include "ptx_frontend/program.hpp"
#include "ptx_frontend/syntax/ast.hpp"

namespace ptxwire::ptx {

/// An operand as an op sees it.
struct Value {
  Slot slot;
  VirtualRegister reg = kNoRegister;
};

/// [base + offset]. `in_frame`: base is a constant offset into the function's frame.
struct Address {
  Value base;
  int64_t offset = 0;
  bool in_frame = false;
  bool is_parameter = false;     ///< in the frame: a parameter, not a .local variable
  Space space = Space::generic;  ///< of a symbol base
};

/// An op under construction.
struct PendingOp {
  Op op;
  VirtualOperands operands;
  VirtualList list;
  void set_dst(size_t k, const Value& value) {
    op.dst[k] = value.slot;
    operands.dst[k] = value.reg;
  }
  void set_src(size_t k, const Value& value) {
    op.src[k] = value.slot;
    operands.src[k] = value.reg;
  }
};

class FunctionLowering {
 public:
  FunctionLowering(const LinkedImage& image, const LinkedFunction& function, ConstantPool& constants,
                   std::vector<CallSite>& calls);

  /// Lowers the body. Afterwards `code()` ends with an op that does not fall through, branch targets are
  /// positions in it, and reads of registers that are never written have become the constant 0.
  void run();

  VirtualCode& code() { return code_; }
  [[nodiscard]] const FrameLayout& frame() const { return frame_; }
  /// Per op the index of the instruction it comes from; body.size() for the implicit return.
  [[nodiscard]] const std::vector<uint32_t>& origins() const { return origins_; }

 private:
  // ---- operands (operand_lowering.cpp)
  Value register_value(uint32_t symbol, uint32_t element, uint32_t component);
  Value symbol_value(const Operand& operand, int64_t addend);
  Value immediate(const Operand& operand, Type type);
  Value read(const Operand& operand, Type type);
  Value write(const Operand& operand);
  std::vector<Value> elements(const Operand& operand, Type type, bool written);
  Address address(const Operand& operand);
  Value frame_address(uint32_t offset);
  Value constant(uint64_t value) { return {constants_.slot(value), kNoRegister}; }
  [[nodiscard]] bool is_frame_symbol(uint32_t index) const;
  [[nodiscard]] const Symbol& symbol(uint32_t index) const { return image_.symbol_of(linked_, index); }

  // ---- instructions (instruction_lowering.cpp)
  void lower(const Instruction& instruction);
  void lower_plain(const Instruction& instruction, size_t destinations);
  void lower_mov(const Instruction& instruction);
  void lower_vector_mov(const Instruction& instruction);
  void lower_load(const Instruction& instruction);
  void lower_store(const Instruction& instruction);
  void lower_atomic(const Instruction& instruction);
  void lower_async_access(const Instruction& instruction);
  void lower_bar(const Instruction& instruction);
  void lower_mbarrier(const Instruction& instruction);
  void lower_copy(const Instruction& instruction);
  void lower_branch(const Instruction& instruction);
  void lower_indexed_branch(const Instruction& instruction);
  void lower_not_executable(const Instruction& instruction);
  static void append(PendingOp& pending, const std::vector<Value>& values);
  PendingOp start(const Instruction& instruction);
  void set_address(PendingOp& pending, size_t k, const Operand& operand);
  void lower_access(PendingOp& pending, const Operand& operand);
  uint32_t emit(PendingOp&& pending);

  // ---- tensors and matrices (matrix_lowering.cpp)
  void lower_tensor_copy(const Instruction& instruction);
  void lower_matrix_product(const Instruction& instruction);
  void lower_warp_product(const Instruction& instruction);
  void lower_matrix_move(const Instruction& instruction);
  void lower_tensormap_replace(const Instruction& instruction);

  // ---- calls (call_lowering.cpp)
  struct CallOperands;
  struct Signature;
  void lower_call(const Instruction& instruction);
  void lower_return(const Instruction& instruction);
  void load_register_parameters();
  Signature signature_of(const CallOperands& operands, PendingOp& pending, CallSite& site);
  uint32_t argument_offset(const Operand& operand, const ProgramParameter& parameter);
  void frame_access(PendingOp pending, Opcode opcode, uint32_t offset, uint32_t bytes, const Value& data);

  // ---- the function as a whole (function_lowering.cpp)
  void number_registers();
  void end_function();
  void resolve_branches();
  void drop_unwritten_reads();
  void clear_at_start(const std::vector<VirtualRegister>& predicates);

  const LinkedImage& image_;
  const LinkedFunction& linked_;
  const Function& function_;
  ConstantPool& constants_;
  std::vector<CallSite>& calls_;
  FrameLayout frame_;
  std::vector<uint32_t> entry_offset_;    ///< per function symbol: offset in the launch parameters
  std::vector<uint32_t> first_number_;    ///< per function symbol: its first entry in numbers_
  std::vector<VirtualRegister> numbers_;  ///< per declared register (and component)
  VirtualCode code_;
  std::vector<uint32_t> origins_;
  std::vector<uint32_t> first_op_;  ///< per instruction: its first op
  uint32_t current_ = 0;            ///< instruction being lowered
};

/// True for what lives in a register: `.reg` variables and `.reg` parameters.
bool is_register(const Symbol& symbol);

/// How many of the leading operands an ordinary instruction writes; the rest are sources in written order.
size_t destination_count(Opcode opcode);

}  // namespace ptxwire::ptx
