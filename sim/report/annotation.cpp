#include "sim/report/annotation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <vector>

#include "ptx_frontend/lower/program_dump.hpp"

namespace ptxwire::sim {
namespace {

using ptx::LatencyClass;
using ptx::Op;
using ptx::Program;
using ptx::ProgramFunction;
using ptx::Slot;

/// Backward dataflow over the register rows of one function.
class LiveRegisters {
 public:
  LiveRegisters(const Program& program, const ProgramFunction& function)
      : program_(program),
        function_(function),
        words_((function.register_rows + 63) / 64),
        live_((function.end_pc - function.entry_pc) * words_) {
    // A pass from the end to the beginning carries values through straight code; loops need some more.
    while (pass()) {
    }
  }
  /// Rows live after the op at `pc`.
  [[nodiscard]] unsigned after(uint32_t pc) const {
    std::vector<uint64_t> rows(words_);
    collect_after(pc, rows);
    unsigned count = 0;
    for (const uint64_t word : rows) count += static_cast<unsigned>(std::popcount(word));
    return count;
  }

 private:
  uint64_t* before(uint32_t pc) { return live_.data() + (pc - function_.entry_pc) * words_; }
  [[nodiscard]] const uint64_t* before(uint32_t pc) const {
    return live_.data() + (pc - function_.entry_pc) * words_;
  }
  void add(uint32_t pc, std::vector<uint64_t>& rows) const {
    if (pc < function_.entry_pc || pc >= function_.end_pc) return;
    for (size_t w = 0; w < words_; ++w) rows[w] |= before(pc)[w];
  }
  void collect_after(uint32_t pc, std::vector<uint64_t>& rows) const {
    const Op& op = program_.code[pc];
    const bool ends = op.opcode == ptx::Opcode::bra || op.opcode == ptx::Opcode::brx ||
                      op.opcode == ptx::Opcode::ret || op.opcode == ptx::Opcode::exit;
    if (!ends || op.guard.present()) add(pc + 1, rows);
    if (op.opcode == ptx::Opcode::bra) add(op.target, rows);
    if (op.opcode == ptx::Opcode::brx) {
      for (const Slot& slot : program_.operand_lists[op.operand_list]) {
        if (slot.kind == Slot::Kind::constant)
          add(static_cast<uint32_t>(program_.constants[slot.index].value), rows);
      }
    }
  }
  static void mark(const Slot& slot, std::vector<uint64_t>& rows, bool live) {
    if (slot.kind != Slot::Kind::reg) return;
    for (unsigned row = slot.index; row < slot.index + unsigned{slot.rows} && row / 64 < rows.size(); ++row) {
      const uint64_t bit = uint64_t{1} << (row % 64);
      rows[row / 64] = live ? rows[row / 64] | bit : rows[row / 64] & ~bit;
    }
  }
  bool pass() {
    bool changed = false;
    std::vector<uint64_t> rows(words_);
    for (uint32_t pc = function_.end_pc; pc-- > function_.entry_pc;) {
      const Op& op = program_.code[pc];
      std::fill(rows.begin(), rows.end(), 0);
      collect_after(pc, rows);
      if (!op.guard.present()) {
        for (const Slot& slot : op.dst) mark(slot, rows, false);
      }
      for (const Slot& slot : op.src) mark(slot, rows, true);
      if (op.operand_list != 0) {
        for (const Slot& slot : program_.operand_lists[op.operand_list]) mark(slot, rows, true);
      }
      changed = changed || !std::equal(rows.begin(), rows.end(), before(pc));
      std::copy(rows.begin(), rows.end(), before(pc));
    }
    return changed;
  }

  const Program& program_;
  const ProgramFunction& function_;
  size_t words_;
  std::vector<uint64_t> live_;
};

struct LineFacts {
  unsigned slots = 0, live = 0;
  LatencyClass latency = LatencyClass::none;
};

/// Facts of the lines of one function.
std::map<uint32_t, LineFacts> facts_of(const Program& program, const ProgramFunction& function) {
  const LiveRegisters live(program, function);
  std::map<uint32_t, LineFacts> lines;
  for (uint32_t pc = function.entry_pc; pc < function.end_pc; ++pc) {
    const Op& op = program.code[pc];
    LineFacts& facts = lines[op.line];
    facts.slots += op.issue_slots;
    facts.live = live.after(pc);
    if (facts.latency == LatencyClass::none) facts.latency = op.latency;
  }
  return lines;
}

std::string summary(const Program& program, const ProgramFunction& function) {
  unsigned slots = 0;
  for (uint32_t pc = function.entry_pc; pc < function.end_pc; ++pc) slots += program.code[pc].issue_slots;
  return fmt::format("// {} {}: {} issue slots, {} registers per thread, {} instructions of code\n",
                     function.is_entry ? "kernel" : "function", function.name, slots,
                     function.registers_per_thread, function.code_size);
}

}  // namespace

std::string annotate(const Program& program, std::string_view text) {
  std::map<uint32_t, LineFacts> lines;
  std::map<uint32_t, std::string> heads;  // before the line of the first instruction
  for (const ProgramFunction& function : program.functions) {
    if (function.entry_pc == function.end_pc) continue;
    const auto facts = facts_of(program, function);
    heads[facts.begin()->first] += summary(program, function);
    lines.insert(facts.begin(), facts.end());
  }
  std::string out = "slots  class       live  |  source\n";
  uint32_t number = 1;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view source = text.substr(0, end);
    if (const auto head = heads.find(number); head != heads.end()) out += head->second;
    if (const auto found = lines.find(number); found != lines.end()) {
      const LineFacts& facts = found->second;
      out += fmt::format("{:>5}  {:<10}  {:>4}  |  {}\n", facts.slots, ptx::latency_class_name(facts.latency),
                         facts.live, source);
    } else {
      out += fmt::format("{:>23}  |  {}\n", "", source);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
  }
  return out;
}

}  // namespace ptxwire::sim
