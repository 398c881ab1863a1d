#include "ptx_frontend/lower/control_flow.hpp"

namespace ptxwire::ptx {
namespace {

enum class Ending : uint8_t { none, branch, leave, stop };

/// How control leaves after op `i`.
Ending ending_of(const VirtualCode& code, uint32_t i) {
  const bool guarded = code.ops[i].guard.present();
  switch (code.ops[i].opcode) {
    case Opcode::bra:
    case Opcode::brx:
      return Ending::branch;
    case Opcode::ret:
    case Opcode::exit:
      return Ending::leave;
    case Opcode::trap:
      // A guarded trap only ever goes on to the next op.
      return guarded ? Ending::none : Ending::stop;
    case Opcode::call:
      return code.operands[i].no_return && !guarded ? Ending::stop : Ending::none;
    default:
      return Ending::none;
  }
}

template <typename Visit>
void for_each_target(const VirtualCode& code, uint32_t i, Visit&& visit) {
  const Op& op = code.ops[i];
  if (op.opcode == Opcode::bra) visit(op.target);
  if (op.opcode == Opcode::brx)
    for (const uint32_t target : code.lists[op.operand_list].targets) visit(target);
}

void split_into_blocks(const VirtualCode& code, ControlFlowGraph& graph) {
  const auto ops = static_cast<uint32_t>(code.ops.size());
  std::vector<bool> leader(ops + 1, false);
  leader[0] = true;
  for (uint32_t i = 0; i < ops; ++i) {
    if (ending_of(code, i) != Ending::none) leader[i + 1] = true;
    for_each_target(code, i, [&](uint32_t target) { leader[target] = true; });
  }
  graph.block_of_op.resize(ops);
  for (uint32_t i = 0; i < ops; ++i) {
    if (leader[i]) graph.blocks.push_back({i, i});
    graph.blocks.back().end = i + 1;
    graph.block_of_op[i] = static_cast<uint32_t>(graph.blocks.size()) - 1;
  }
}

}  // namespace

ControlFlowGraph build_control_flow(const VirtualCode& code) {
  ControlFlowGraph graph;
  split_into_blocks(code, graph);
  std::vector<VertexList::Record> forward;
  std::vector<uint32_t> added_from(graph.vertex_count(), UINT32_MAX);  // each edge once
  for (uint32_t b = 0; b < graph.blocks.size(); ++b) {
    const uint32_t last = graph.blocks[b].end - 1;
    const auto add = [&](uint32_t to) {
      if (added_from[to] == b) return;
      added_from[to] = b;
      forward.emplace_back(b, to);
    };
    const Ending ending = ending_of(code, last);
    const bool guarded = code.ops[last].guard.present();
    for_each_target(code, last, [&](uint32_t target) { add(graph.block_of_op[target]); });
    if (ending == Ending::leave) add(graph.exit());
    if (ending == Ending::none || (guarded && ending != Ending::stop)) add(b + 1);
    if (ending == Ending::stop) graph.stopping_blocks.push_back(b);
  }
  std::vector<VertexList::Record> backward;
  backward.reserve(forward.size());
  for (const auto& [from, to] : forward) backward.emplace_back(to, from);
  graph.successors = VertexList(graph.vertex_count(), forward);
  graph.predecessors = VertexList(graph.vertex_count(), backward);
  return graph;
}

}  // namespace ptxwire::ptx
