#include "ptx_frontend/lower/program_dump.hpp"

#include <fmt/format.h>

#include <array>

namespace ptxwire::ptx {
namespace {

std::string dump_constant(const Program& program, const Constant& constant) {
  const auto plus = constant.value == 0 ? std::string() : fmt::format("+{}", constant.value);
  switch (constant.relocation) {
    case RelocationKind::none:
      return fmt::format("#{:#x}", constant.value);
    case RelocationKind::global:
      return fmt::format("#global {}{}", program.variables[constant.symbol].name, plus);
    case RelocationKind::constant:
      return fmt::format("#const {}{}", program.variables[constant.symbol].name, plus);
    case RelocationKind::function:
      return fmt::format("#function {}{}", program.functions[constant.symbol].name, plus);
    case RelocationKind::shared_dynamic:
      return fmt::format("#dynamic{}", plus);
  }
  return "#?";
}

bool takes_address(Opcode opcode) {
  return (opcode >= Opcode::ld && opcode <= Opcode::applypriority) ||
         (opcode >= Opcode::mbarrier_init && opcode <= Opcode::mbarrier_try_wait);
}

bool copies(Opcode opcode) {
  return opcode == Opcode::cp_async ||
         (opcode >= Opcode::cp_async_bulk && opcode <= Opcode::cp_reduce_async_bulk);
}

std::string bracketed(const Program& program, const Slot& base, int32_t offset, bool in_frame) {
  return fmt::format("[{}{}{}]", in_frame ? "frame " : "", dump_slot(program, base),
                     offset == 0 ? std::string() : fmt::format("{:+}", offset));
}

std::string dump_call(const Program& program, const CallSite& call) {
  std::string text = call.function != UINT32_MAX ? program.functions[call.function].name
                     : call.intrinsic.empty()    ? std::string("indirect")
                                                 : call.intrinsic;
  for (const ParameterCopy& copy : call.arguments)
    text += fmt::format(" {}->{}({})", copy.caller_offset, copy.callee_offset, copy.bytes);
  for (const ParameterCopy& copy : call.results)
    text += fmt::format(" {}<-{}({})", copy.caller_offset, copy.callee_offset, copy.bytes);
  return text;
}

std::string dump_operands(const Program& program, const Op& op) {
  std::string text;
  const auto append = [&](std::string_view separator, const std::string& operand) {
    if (!text.empty() && !text.ends_with(' ')) text += separator;
    text += operand;
  };
  for (const Slot& slot : op.dst)
    if (slot.present()) append(", ", dump_slot(program, slot));
  if (!text.empty()) text += " <- ";
  for (size_t k = 0; k < op.src.size(); ++k) {
    if (!op.src[k].present()) continue;
    const bool address = (k == 0 && takes_address(op.opcode)) || (copies(op.opcode) && (k < 2 || k == 3));
    const int32_t offset = k == 0 ? op.offset : k == 1 ? op.offset2 : op.offset3;
    if (op.opcode == Opcode::frame_address) text += "frame + ";
    append(", ", address ? bracketed(program, op.src[k], offset, op.frame_relative)
                         : dump_slot(program, op.src[k]));
  }
  for (const Slot& slot : program.operand_lists[op.operand_list]) append(", ", dump_slot(program, slot));
  if (op.opcode == Opcode::bra) append(" ", fmt::format("-> {}", op.target));
  if (op.opcode == Opcode::call) append(" ", dump_call(program, program.calls[op.target]));
  if (op.reconvergence != kNoPc) append(", ", fmt::format("joins {}", op.reconvergence));
  return text;
}

std::string dump_loop(const Program& program, const PollLoop& loop) {
  std::string state;
  for (const Slot& slot : loop.state) state += (state.empty() ? "" : ", ") + dump_slot(program, slot);
  std::string body;
  for (const auto& [begin, end] : loop.body) body += fmt::format(" {}-{}", begin, end);
  return fmt::format("  poll loop{}, back edge {}, state {{{}}}{}", body, loop.back_edge, state,
                     loop.reads_clock ? ", reads clock" : "");
}

}  // namespace

std::string_view latency_class_name(LatencyClass latency) {
  constexpr std::array<std::string_view, static_cast<size_t>(LatencyClass::count)> kNames = {
      "none",   "alu",        "imad",     "imad_wide", "fp32",  "fp16",   "fp64",
      "sfu",    "conversion", "division", "shuffle",   "vote",  "redux",  "match",
      "branch", "barrier",    "special",  "memory",    "fence", "control"};
  return kNames[static_cast<size_t>(latency)];
}

std::string dump_slot(const Program& program, const Slot& slot) {
  switch (slot.kind) {
    case Slot::Kind::none:
      return "-";
    case Slot::Kind::reg:
      return slot.rows == 1 ? fmt::format("r{}", slot.index) : fmt::format("r{}:{}", slot.index, +slot.rows);
    case Slot::Kind::predicate:
      return fmt::format("{}p{}", slot.negated ? "!" : "", slot.index);
    case Slot::Kind::constant:
      return dump_constant(program, program.constants[slot.index]);
    case Slot::Kind::sink:
      return "_";
  }
  return "?";
}

std::string dump_function(const Program& program, uint32_t index) {
  const ProgramFunction& function = program.functions[index];
  std::string text = fmt::format("{} {}  rows {}  predicates {}  frame {}  shared {}  registers {}\n",
                                 function.is_entry ? ".entry" : ".func", function.name,
                                 function.register_rows, function.predicates, function.frame_bytes,
                                 function.static_shared_bytes, function.registers_per_thread);
  for (const ProgramParameter& p : function.parameters)
    text += fmt::format("  parameter {:>5} +{} {}\n", p.offset, p.bytes, p.name);
  for (uint32_t pc = function.entry_pc; pc < function.end_pc; ++pc) {
    const Op& op = program.code[pc];
    if (pc == function.entry_pc || op.block != program.code[pc - 1].block) {
      text += fmt::format("B{}", op.block);
      for (const PollLoop& loop : program.poll_loops)
        if (loop.header == pc) text += dump_loop(program, loop);
      text += '\n';
    }
    const std::string guard = op.guard.present() ? "@" + dump_slot(program, op.guard) + " " : "";
    text += fmt::format("  {:>5}  line {:<5} {:<12} {:<34} {}{}\n", pc, op.line,
                        fmt::format("{}/{}", latency_class_name(op.latency), op.issue_slots),
                        guard + program.texts[pc], dump_operands(program, op),
                        op.executable ? "" : "  not executable");
  }
  return text;
}

}  // namespace ptxwire::ptx
