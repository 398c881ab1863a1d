// Driver of lowering: one function after the other through decoding, analysis and allocation into the
// program.
#include <fmt/core.h>

#include <optional>
#include <set>
#include <unordered_map>

#include "ptx_frontend/frontend.hpp"
#include "ptx_frontend/link/linked_image.hpp"
#include "ptx_frontend/lower/constant_pool.hpp"
#include "ptx_frontend/lower/convergence_cost.hpp"
#include "ptx_frontend/lower/dominators.hpp"
#include "ptx_frontend/lower/function_lowering.hpp"
#include "ptx_frontend/lower/meeting_points.hpp"
#include "ptx_frontend/lower/poll_loops.hpp"
#include "ptx_frontend/lower/register_allocation.hpp"
#include "ptx_frontend/lower/static_facts.hpp"

namespace ptxwire::ptx {
namespace {

constexpr uint32_t kMaximumRows = 65536;  // what Slot::index can tell apart
constexpr size_t kMostLiveBits = 100'000'000;

bool may_wait_long(Opcode opcode) {
  return opcode == Opcode::bar || opcode == Opcode::barrier_cluster || opcode == Opcode::mbarrier_test_wait ||
         opcode == Opcode::mbarrier_try_wait;
}

class ProgramBuilder {
 public:
  explicit ProgramBuilder(LinkedImage image) : image_(std::move(image)), constants_(program_.constants) {}

  Expected<Program> build() {
    for (const Module* module : image_.modules) add_locations(*module);
    for (uint32_t f = 0; f < image_.functions.size(); ++f)
      if (auto error = add_function(f)) return *std::move(error);
    if (!constants_.within_limits())
      return Error{fmt::format("the program has more than {} distinct constants", ConstantPool::kLimit),
                   image_.modules.empty() ? "" : image_.modules.front()->path, 0, 0,
                   "load fewer modules at once"};
    program_.variables = std::move(image_.variables);
    return std::move(program_);
  }

 private:
  void add_locations(const Module& module) {
    std::unordered_map<uint32_t, uint32_t> file_index;
    for (const auto& [number, name] : module.files) {
      file_index.emplace(number, static_cast<uint32_t>(program_.files.size()));
      program_.files.emplace_back(name);
    }
    // Entry 0 of every table means "none" and is shared.
    const auto base = static_cast<uint32_t>(program_.locations.size()) - 1;
    location_base_.push_back(base);
    for (size_t i = 1; i < module.locations.size(); ++i) {
      Location location = module.locations[i];
      const auto file = file_index.find(location.file);
      location.file = file == file_index.end() ? UINT32_MAX : file->second;
      if (location.inlined_at != 0) location.inlined_at += base;
      program_.locations.push_back(location);
    }
  }

  std::optional<Error> add_function(uint32_t index) {
    const LinkedFunction& linked = image_.functions[index];
    FunctionLowering lowering(image_, linked, constants_, program_.calls);
    lowering.run();
    VirtualCode& code = lowering.code();
    annotate_static_facts(code);
    const ControlFlowGraph graph = build_control_flow(code);
    const std::vector<uint32_t> post_dominators = immediate_post_dominators(graph);
    const uint32_t beyond_slots = charge_convergence(code, graph, post_dominators, program_.constants);
    const LiveIntervals intervals = compute_liveness(code, graph);
    const RegisterAllocation allocation = allocate_registers(code, intervals);
    if (allocation.rows > kMaximumRows || allocation.predicates > kMaximumRows)
      return refuse(linked, fmt::format("keeps {} registers live at once, at most {} are supported",
                                        allocation.rows, kMaximumRows));
    ProgramFunction function = describe(index, lowering.frame());
    function.registers_per_thread = estimate_registers(peak_pressure(code, intervals),
                                                       linked.function->directives, moves_registers(code));
    function.code_size = estimate_code_size(code, beyond_slots);
    function.register_rows = allocation.rows;
    function.predicates = allocation.predicates;
    const DominatorOrder dominators(immediate_dominators(graph.successors, 0), 0);
    std::vector<PollLoop> loops = find_poll_loops(code, graph, dominators, intervals, allocation);
    if (function.is_entry) append_live_rows(code, loops, intervals, allocation);
    apply_allocation(allocation, code);
    append(lowering, graph, MeetingPoints(graph, dominators, post_dominators), function);
    append_loops(std::move(loops), function.entry_pc);
    program_.functions.push_back(std::move(function));
    return std::nullopt;
  }

  [[nodiscard]] Error refuse(const LinkedFunction& linked, const std::string& why) const {
    Error error;
    error.message = fmt::format("function '{}' {}", linked.function->name, why);
    error.path = image_.modules[linked.module]->path;
    return error;
  }

  [[nodiscard]] ProgramFunction describe(uint32_t index, const FrameLayout& frame) const {
    const LinkedFunction& linked = image_.functions[index];
    const SharedUse& shared = image_.shared_use[index];
    ProgramFunction function;
    function.name = std::string(linked.function->name);
    function.path = image_.modules[linked.module]->path;
    function.is_entry = linked.function->is_entry;
    function.frame_bytes = frame.bytes();
    function.static_shared_bytes = static_cast<uint32_t>(shared.static_bytes);
    function.shared_align = shared.align;
    function.uses_dynamic_shared = shared.dynamic;
    function.directives = linked.function->directives;
    if (function.is_entry) {
      ParameterLayout layout = entry_parameters(*linked.function);
      function.parameter_bytes = layout.bytes;
      function.parameters = std::move(layout.items);
    } else {
      function.parameters = frame.interface().parameters;
    }
    return function;
  }

  void append(FunctionLowering& lowering, const ControlFlowGraph& graph, MeetingPoints meeting_points,
              ProgramFunction& function) {
    const VirtualCode& code = lowering.code();
    const LinkedFunction& linked = image_.functions[program_.functions.size()];
    const auto base = static_cast<uint32_t>(program_.code.size());
    function.entry_pc = base;
    function.end_pc = base + static_cast<uint32_t>(code.ops.size());
    for (uint32_t i = 0; i < code.ops.size(); ++i) {
      Op op = code.ops[i];
      const uint32_t block = graph.block_of_op[i];
      op.block = static_cast<uint16_t>(std::min(block, 0xFFFFU));
      if (op.location != 0) op.location += location_base_[linked.module];
      if (op.opcode == Opcode::bra) op.target += base;
      const bool may_diverge = op.opcode == Opcode::brx || (op.opcode == Opcode::bra && op.guard.present());
      const uint32_t meeting = may_diverge ? meeting_points.of(block) : kNoVertex;
      if (meeting != graph.exit() && meeting != kNoVertex)
        op.reconvergence = base + graph.blocks[meeting].begin;
      if (op.operand_list != 0) op.operand_list = add_list(code.lists[op.operand_list], base);
      program_.code.push_back(op);
      const uint32_t origin = lowering.origins()[i];
      const auto& body = linked.function->body;
      program_.texts.emplace_back(origin < body.size() ? body[origin].text : std::string_view("ret"));
    }
  }

  uint32_t add_list(const VirtualList& list, uint32_t base) {
    std::vector<Slot> slots = list.slots;
    for (const uint32_t target : list.targets) slots.push_back(constants_.slot(base + target));
    program_.operand_lists.push_back(std::move(slots));
    return static_cast<uint32_t>(program_.operand_lists.size()) - 1;
  }

  void append_loops(std::vector<PollLoop> loops, uint32_t base) {
    for (PollLoop& loop : loops) {
      loop.header += base;
      loop.back_edge += base;
      for (auto& [begin, end] : loop.body) {
        begin += base;
        end += base;
      }
      program_.poll_loops.push_back(std::move(loop));
    }
  }

  // The function's code comes next: its positions begin at the end of what there is.
  void append_live_rows(const VirtualCode& code, const std::vector<PollLoop>& loops,
                        const LiveIntervals& intervals, const RegisterAllocation& allocation) {
    std::set<uint32_t> positions;
    for (const PollLoop& loop : loops) positions.insert(loop.header);
    for (uint32_t i = 0; i + 1 < code.ops.size(); ++i)
      if (may_wait_long(code.ops[i].opcode)) positions.insert({i, i + 1});
    // What they are good for is host memory of big clusters: not worth much of it on kernels of thousands.
    if (positions.size() * allocation.rows > kMostLiveBits) return;
    std::vector<LiveRows> live =
        rows_live_before(code, intervals, allocation, {positions.begin(), positions.end()});
    for (LiveRows& rows : live) {
      rows.pc += static_cast<uint32_t>(program_.code.size());
      program_.live_rows.push_back(std::move(rows));
    }
  }

  LinkedImage image_;
  Program program_;
  ConstantPool constants_;
  std::vector<uint32_t> location_base_;  // per module
};

}  // namespace

Expected<Program> link_and_lower(const std::vector<const Module*>& modules) {
  Expected<LinkedImage> image = link(modules);
  if (!image) return image.error();
  return ProgramBuilder(*std::move(image)).build();
}

}  // namespace ptxwire::ptx
