#include "ptx_frontend/lower/poll_loops.hpp"

#include <algorithm>

namespace ptxwire::ptx {
namespace {

constexpr uint32_t kMaximumOps = 64;

enum class Role : uint8_t { forbidden, neutral, poll };

/// Whether an op may stand in a poll loop. Float arithmetic is left out: nobody polls with it.
Role role_of(const Op& op, const VirtualOperands& operands) {
  if (!op.executable) return Role::forbidden;
  switch (op.opcode) {
    case Opcode::ld:
    case Opcode::mbarrier_test_wait:
    case Opcode::mbarrier_try_wait:
      return Role::poll;
    case Opcode::read_special:
      return operands.reads_clock ? Role::poll : Role::neutral;
    case Opcode::mov:
    case Opcode::mov_pack:
    case Opcode::mov_unpack:
    case Opcode::frame_address:
    case Opcode::cvta:
    case Opcode::mapa:
    case Opcode::cvt:
    case Opcode::set:
    case Opcode::setp:
    case Opcode::selp:
    case Opcode::slct:
    case Opcode::and_op:
    case Opcode::or_op:
    case Opcode::xor_op:
    case Opcode::not_op:
    case Opcode::cnot:
    case Opcode::lop3:
    case Opcode::shl:
    case Opcode::shr:
    case Opcode::shf:
    case Opcode::prmt:
    case Opcode::popc:
    case Opcode::clz:
    case Opcode::bfind:
    case Opcode::brev:
    case Opcode::bfe:
    case Opcode::bfi:
    case Opcode::bra:
    case Opcode::nop:
    case Opcode::nanosleep:
    case Opcode::bar_warp_sync:
    case Opcode::shfl:
    case Opcode::vote:
    case Opcode::match:
    case Opcode::redux:
    case Opcode::activemask:
    case Opcode::elect:
      return Role::neutral;
    case Opcode::add:
    case Opcode::sub:
    case Opcode::mul:
    case Opcode::mad:
    case Opcode::min:
    case Opcode::max:
    case Opcode::abs:
    case Opcode::neg:
      return is_float(op.modifiers.type) ? Role::forbidden : Role::neutral;
    default:
      return Role::forbidden;
  }
}

class LoopFinder {
 public:
  LoopFinder(const VirtualCode& code, const ControlFlowGraph& graph, const DominatorOrder& dominators,
             const LiveIntervals& intervals, const RegisterAllocation& allocation)
      : code_(code), graph_(graph), dominators_(dominators), intervals_(intervals), allocation_(allocation) {}

  std::vector<PollLoop> run() {
    std::vector<PollLoop> loops;
    for (uint32_t header = 0; header < graph_.blocks.size(); ++header) {
      uint32_t latch = kNoVertex;
      uint32_t back_edges = 0;
      for (const uint32_t from : graph_.predecessors.of(header)) {
        if (!dominators_.dominates(header, from)) continue;
        latch = from;
        ++back_edges;
      }
      if (back_edges != 1 || code_.ops[graph_.blocks[latch].end - 1].opcode != Opcode::bra) continue;
      if (!collect(header, latch) || !only_polls() || !is_innermost(header)) continue;
      const std::vector<VirtualRegister> state = carried_state(header);
      if (!counts_turns(state, latch)) loops.push_back(describe(header, latch, state));
    }
    return loops;
  }

 private:
  /// Blocks from which the latch is reached without passing the header; false if they are too many.
  bool collect(uint32_t header, uint32_t latch) {
    body_.assign(1, header);
    std::vector<uint32_t> work;
    const auto add = [&](uint32_t block) {
      if (std::find(body_.begin(), body_.end(), block) != body_.end()) return;
      body_.push_back(block);
      work.push_back(block);
    };
    add(latch);
    while (!work.empty() && body_.size() <= kMaximumOps) {
      const uint32_t block = work.back();
      work.pop_back();
      for (const uint32_t from : graph_.predecessors.of(block)) add(from);
    }
    std::sort(body_.begin(), body_.end());
    uint32_t ops = 0;
    for (const uint32_t block : body_) ops += graph_.blocks[block].end - graph_.blocks[block].begin;
    return ops <= kMaximumOps;
  }

  template <typename Visit>
  void for_each_op(Visit&& visit) const {
    for (const uint32_t block : body_)
      for (uint32_t i = graph_.blocks[block].begin; i < graph_.blocks[block].end; ++i) visit(i);
  }

  [[nodiscard]] bool only_polls() const {
    bool polls = false, allowed = true;
    for_each_op([&](uint32_t i) {
      const Role role = role_of(code_.ops[i], code_.operands[i]);
      polls = polls || role == Role::poll;
      allowed = allowed && role != Role::forbidden;
    });
    return polls && allowed;
  }

  [[nodiscard]] bool in_body(uint32_t block) const {
    return std::binary_search(body_.begin(), body_.end(), block);
  }

  /// No cycle but the one through the header: blocks are peeled off once all their predecessors in the body
  /// are.
  [[nodiscard]] bool is_innermost(uint32_t header) const {
    std::vector<uint32_t> peeled = {header};
    bool progress = true;
    while (progress) {
      progress = false;
      for (const uint32_t block : body_) {
        if (std::find(peeled.begin(), peeled.end(), block) != peeled.end()) continue;
        const auto before = graph_.predecessors.of(block);
        if (!std::all_of(before.begin(), before.end(), [&](uint32_t p) {
              return std::find(peeled.begin(), peeled.end(), p) != peeled.end() || !in_body(p);
            }))
          continue;
        peeled.push_back(block);
        progress = true;
      }
    }
    return peeled.size() == body_.size();
  }

  /// Registers all of whose writes in the loop depend on a clock read in it.
  [[nodiscard]] std::vector<VirtualRegister> clock_registers() const {
    std::vector<VirtualRegister> tainted, clean;
    const auto contains = [](const std::vector<VirtualRegister>& list, VirtualRegister r) {
      return std::find(list.begin(), list.end(), r) != list.end();
    };
    for (size_t before = SIZE_MAX; before != tainted.size();) {
      before = tainted.size();
      clean.clear();
      for_each_op([&](uint32_t i) {
        bool from_clock = code_.operands[i].reads_clock;
        for_each_use(code_, i, [&](VirtualRegister r) { from_clock = from_clock || contains(tainted, r); });
        for_each_definition(code_, i, [&](VirtualRegister r) {
          if (!from_clock) clean.push_back(r);
          if (from_clock && !contains(tainted, r)) tainted.push_back(r);
        });
      });
    }
    std::erase_if(tainted, [&](VirtualRegister r) { return contains(clean, r); });
    return tainted;
  }

  /// Registers written in the loop and live at its top, without those that only follow a clock.
  [[nodiscard]] std::vector<VirtualRegister> carried_state(uint32_t header) const {
    const std::vector<VirtualRegister> from_clock = clock_registers();
    const uint32_t top = 2 * graph_.blocks[header].begin;
    std::vector<VirtualRegister> carried;
    for_each_op([&](uint32_t i) {
      for_each_definition(code_, i, [&](VirtualRegister r) {
        const bool excluded = std::find(from_clock.begin(), from_clock.end(), r) != from_clock.end();
        if (!excluded && is_live_at(intervals_, r, top)) carried.push_back(r);
      });
    });
    std::sort(carried.begin(), carried.end());
    carried.erase(std::unique(carried.begin(), carried.end()), carried.end());
    return carried;
  }

  /// The op that writes `r` once in every turn, whatever way it takes; kNoVertex if there is none.
  [[nodiscard]] uint32_t only_writer(VirtualRegister r, uint32_t latch) const {
    uint32_t writer = kNoVertex, writers = 0;
    for_each_op([&](uint32_t i) {
      for_each_definition(code_, i, [&](VirtualRegister written) {
        if (written != r) return;
        writer = i;
        ++writers;
      });
    });
    if (writers != 1 || code_.ops[writer].guard.present()) return kNoVertex;
    return dominators_.dominates(graph_.block_of_op[writer], latch) ? writer : kNoVertex;
  }

  [[nodiscard]] bool is_written(VirtualRegister r) const {
    bool written = false;
    for_each_op([&](uint32_t i) {
      for_each_definition(code_, i, [&](VirtualRegister w) { written = written || w == r; });
    });
    return written;
  }

  /// True if a state register is the sum of itself and something that stays the same in every turn, possibly
  /// by way of moves.
  [[nodiscard]] bool counts_turns(const std::vector<VirtualRegister>& state, uint32_t latch) const {
    constexpr int kMoves = 4;
    return std::any_of(state.begin(), state.end(), [&](VirtualRegister counter) {
      VirtualRegister r = counter;
      for (int moves = 0; moves <= kMoves; ++moves) {
        const uint32_t writer = only_writer(r, latch);
        if (writer == kNoVertex) return false;
        const Op& op = code_.ops[writer];
        const auto& sources = code_.operands[writer].src;
        const bool step = op.opcode == Opcode::add || op.opcode == Opcode::sub;
        if (step)
          return sources[0] == counter && (op.src[1].kind == Slot::Kind::constant ||
                                           (sources[1] != kNoRegister && !is_written(sources[1])));
        if (op.opcode != Opcode::mov || sources[0] == kNoRegister) return false;
        r = sources[0];
      }
      return false;
    });
  }

  [[nodiscard]] PollLoop describe(uint32_t header, uint32_t latch,
                                  const std::vector<VirtualRegister>& state) const {
    PollLoop loop;
    loop.header = graph_.blocks[header].begin;
    loop.back_edge = graph_.blocks[latch].end - 1;
    for_each_op([&](uint32_t i) { loop.reads_clock = loop.reads_clock || code_.operands[i].reads_clock; });
    for (const VirtualRegister r : state) loop.state.push_back(slot_of(r));
    for (const uint32_t block : body_) {
      const BasicBlock& range = graph_.blocks[block];
      if (!loop.body.empty() && loop.body.back().second == range.begin)
        loop.body.back().second = range.end;
      else
        loop.body.emplace_back(range.begin, range.end);
    }
    return loop;
  }

  [[nodiscard]] Slot slot_of(VirtualRegister r) const {
    Slot slot;
    slot.index = static_cast<uint16_t>(allocation_.index[r]);
    slot.kind = code_.classes[r] == RegisterClass::predicate ? Slot::Kind::predicate : Slot::Kind::reg;
    slot.rows = static_cast<uint8_t>(rows_of(code_.classes[r]));
    return slot;
  }

  const VirtualCode& code_;
  const ControlFlowGraph& graph_;
  const DominatorOrder& dominators_;
  const LiveIntervals& intervals_;
  const RegisterAllocation& allocation_;
  std::vector<uint32_t> body_;  // blocks of the loop under test, ascending
};

}  // namespace

std::vector<PollLoop> find_poll_loops(const VirtualCode& code, const ControlFlowGraph& graph,
                                      const DominatorOrder& dominators, const LiveIntervals& intervals,
                                      const RegisterAllocation& allocation) {
  return LoopFinder(code, graph, dominators, intervals, allocation).run();
}

}  // namespace ptxwire::ptx
