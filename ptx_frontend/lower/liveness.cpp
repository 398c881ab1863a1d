#include "ptx_frontend/lower/liveness.hpp"

#include <algorithm>

namespace ptxwire::ptx {
namespace {

using BlockRecord = std::pair<VirtualRegister, uint32_t>;  // (register, block)

/// Registers read in a block before any write in it, and the blocks that surely write each of those
/// registers.
struct BlockFacts {
  VertexList exposed;  ///< per register
  VertexList killed;   ///< per register
};

BlockFacts gather(const VirtualCode& code, const ControlFlowGraph& graph) {
  const auto registers = static_cast<uint32_t>(code.classes.size());
  std::vector<uint32_t> written_in(registers, UINT32_MAX), exposed_in(registers, UINT32_MAX);
  std::vector<BlockRecord> exposed, killed;
  for (uint32_t b = 0; b < graph.blocks.size(); ++b) {
    for (uint32_t i = graph.blocks[b].begin; i < graph.blocks[b].end; ++i) {
      const auto expose = [&](VirtualRegister r) {
        if (written_in[r] == b || exposed_in[r] == b) return;
        exposed_in[r] = b;
        exposed.emplace_back(r, b);
      };
      for_each_use(code, i, expose);
      const bool guarded = code.ops[i].guard.present();
      for_each_definition(code, i, [&](VirtualRegister r) {
        if (guarded || written_in[r] == b) return;
        written_in[r] = b;
        killed.emplace_back(r, b);
      });
    }
  }
  return {VertexList(registers, exposed), VertexList(registers, killed)};
}

/// Per block the registers live at its end: from every exposed read upwards until a block that writes the
/// register.
Adjacency<VirtualRegister> live_out_of_blocks(const VirtualCode& code, const ControlFlowGraph& graph) {
  const BlockFacts facts = gather(code, graph);
  std::vector<uint32_t> killed_for(graph.blocks.size(), kNoRegister);
  std::vector<uint32_t> live_out_for(graph.blocks.size(), kNoRegister);
  std::vector<Adjacency<VirtualRegister>::Record> live_out;
  std::vector<uint32_t> work;
  for (VirtualRegister r = 0; r < code.classes.size(); ++r) {
    const auto exposed = facts.exposed.of(r);
    if (exposed.empty()) continue;
    for (const uint32_t block : facts.killed.of(r)) killed_for[block] = r;
    work.assign(exposed.begin(), exposed.end());
    while (!work.empty()) {
      const uint32_t block = work.back();
      work.pop_back();
      for (const uint32_t from : graph.predecessors.of(block)) {
        if (live_out_for[from] == r) continue;
        live_out_for[from] = r;
        live_out.emplace_back(from, r);
        if (killed_for[from] != r) work.push_back(from);
      }
    }
  }
  return {static_cast<uint32_t>(graph.blocks.size()), live_out};
}

/// Walks blocks and ops backwards and notes ranges as they close.
class RangeBuilder {
 public:
  explicit RangeBuilder(uint32_t registers) : open_end_(registers, 0), last_(registers, UINT32_MAX) {}

  void open(VirtualRegister r, uint32_t end) {
    if (open_end_[r] != 0) return;
    open_end_[r] = end;
    open_.push_back(r);
  }
  /// The value that was written at `begin`; `read_before`: the old value survives where a guard is false.
  void define(VirtualRegister r, uint32_t begin, bool keeps_old) {
    if (open_end_[r] == 0) {
      add(r, begin, begin + 1);
    } else if (!keeps_old) {
      add(r, begin, open_end_[r]);
      open_end_[r] = 0;
    }
  }
  /// What is still open at the top of a block came in from above.
  void close_block(uint32_t begin) {
    for (const VirtualRegister r : open_) {
      if (open_end_[r] == 0) continue;
      add(r, begin, open_end_[r]);
      open_end_[r] = 0;
    }
    open_.clear();
  }
  LiveIntervals finish() {
    std::reverse(records_.begin(), records_.end());
    return {static_cast<uint32_t>(last_.size()), records_};
  }

 private:
  void add(VirtualRegister r, uint32_t begin, uint32_t end) {
    if (last_[r] != UINT32_MAX && records_[last_[r]].second.begin <= end) {
      records_[last_[r]].second.begin = begin;
      return;
    }
    last_[r] = static_cast<uint32_t>(records_.size());
    records_.emplace_back(r, LiveRange{begin, end});
  }

  std::vector<uint32_t> open_end_;  // 0: not live here
  std::vector<uint32_t> last_;      // index of the register's latest record
  std::vector<VirtualRegister> open_;
  std::vector<LiveIntervals::Record> records_;
};

}  // namespace

LiveIntervals compute_liveness(const VirtualCode& code, const ControlFlowGraph& graph) {
  const Adjacency<VirtualRegister> live_out = live_out_of_blocks(code, graph);
  RangeBuilder builder(static_cast<uint32_t>(code.classes.size()));
  for (auto b = static_cast<uint32_t>(graph.blocks.size()); b-- > 0;) {
    const BasicBlock& block = graph.blocks[b];
    for (const VirtualRegister r : live_out.of(b)) builder.open(r, 2 * block.end);
    for (uint32_t i = block.end; i-- > block.begin;) {
      const bool guarded = code.ops[i].guard.present();
      for_each_definition(code, i, [&](VirtualRegister r) { builder.define(r, 2 * i + 1, guarded); });
      for_each_use(code, i, [&](VirtualRegister r) { builder.open(r, 2 * i + 2); });
    }
    builder.close_block(2 * block.begin);
  }
  return builder.finish();
}

bool is_live_at(const LiveIntervals& intervals, VirtualRegister reg, uint32_t position) {
  const auto ranges = intervals.of(reg);
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), position,
                                      [](uint32_t p, const LiveRange& range) { return p < range.begin; });
  return after != ranges.begin() && position < std::prev(after)->end;
}

uint32_t peak_pressure(const VirtualCode& code, const LiveIntervals& intervals) {
  std::vector<int32_t> change(2 * code.ops.size() + 3, 0);
  for (VirtualRegister r = 0; r < code.classes.size(); ++r) {
    if (code.classes[r] == RegisterClass::predicate) continue;
    const auto rows = static_cast<int32_t>(rows_of(code.classes[r]));
    for (const LiveRange& range : intervals.of(r)) {
      // A value read for the last time at op i leaves its register to a result of op i on hardware.
      const uint32_t end = range.end % 2 == 0 && range.end - 1 > range.begin ? range.end - 1 : range.end;
      change[range.begin] += rows;
      change[end] -= rows;
    }
  }
  int32_t live = 0, peak = 0;
  for (const int32_t delta : change) peak = std::max(peak, live += delta);
  return static_cast<uint32_t>(peak);
}

}  // namespace ptxwire::ptx
