#include "sim/workload/intranode.hpp"

#include <algorithm>
#include <array>

#include "sim/workload/handle.hpp"
#include "sim/workload/run_parts.hpp"
#include "support/data_path.hpp"

namespace ptxwire::sim {

namespace {

constexpr uint64_t kSectionAlign = 128;
constexpr uint32_t kVectorBytes = 16;
/// Counters per ring: start, end, consumed, produced (dispatch; combine uses two of them).
constexpr uint64_t kRingCounters = 4;

std::string_view family_word(const Scenario& s) {
  return s.kernel == KernelFamily::intranode_dispatch ? "dispatch" : "combine";
}
std::string_view revision_word(const Scenario& s) { return s.revision == KernelRevision::a ? "a" : "d"; }

std::string_view hint_suffix(PayloadHints hints) {
  switch (hints) {
    case PayloadHints::standard:
      return "";
    case PayloadHints::no_prefetch:
      return "_no_prefetch";
    case PayloadHints::plain:
      return "_plain";
    case PayloadHints::safe:
      return "_volatile";
  }
  return "";
}

/// `given` if there is one, else the data file.
Expected<std::string> program_path(const std::string& given, const std::string& data_file) {
  if (!given.empty()) return given;
  return find_data_file(data_file);
}

uint32_t topk_on_wire(const Scenario& s) { return s.send_topk ? s.topk : 0; }

}  // namespace

uint64_t row_payload_bytes(const Scenario& s) {
  return uint64_t{s.hidden} * (s.elements == ElementType::fp8 ? 1 : 2);
}

CommLayout::CommLayout(const Scenario& s) {
  const uint64_t rings = uint64_t{s.channels()} * s.ranks, slots = rings * s.ring_slots;
  const auto section = [this](uint64_t size) {
    const auto offset = static_cast<int64_t>(bytes);
    bytes = (bytes + size + kSectionAlign - 1) / kSectionAlign * kSectionAlign;
    return offset;
  };
  matrix = section((uint64_t{s.ranks} * s.ranks + s.experts) * sizeof(int32_t));
  metadata = section(kRingCounters * rings * sizeof(int32_t));
  rows = section(slots * row_payload_bytes(s));
  source = section(slots * sizeof(int32_t));
  idx = section(slots * topk_on_wire(s) * sizeof(int64_t));
  weights = section(slots * topk_on_wire(s) * sizeof(float));
  scales = section(slots * s.scales() * sizeof(float));
}

Expected<ScenarioPrograms> scenario_programs(const Scenario& s) {
  const std::string family(family_word(s)), revision(revision_word(s));
  const std::string main = family + "_" + revision;
  ScenarioPrograms programs;
  const auto resolve = [](std::string& out, const std::string& given,
                          const std::string& data_file) -> Expected<void> {
    auto path = program_path(given, data_file);
    if (!path) return path.error();
    out = *path;
    return {};
  };
  if (const auto r = resolve(programs.main_path, s.ptx, "kernels/" + main + ".ptx"); !r) return r.error();
  programs.main_entry = s.entry.empty() ? main + std::string(hint_suffix(s.hints)) : s.entry;
  if (const auto r = resolve(programs.notify_path, s.notify_ptx, "kernels/notify.ptx"); !r) return r.error();
  programs.notify_entry = s.notify_entry.empty() ? "cached_notify_" + main : s.notify_entry;
  if (s.notify == NotifyMode::full) {
    if (const auto r = resolve(programs.full_notify_path, {}, "kernels/notify.ptx"); !r) return r.error();
    programs.full_notify_entry = "notify_dispatch_" + revision;
    if (const auto r = resolve(programs.layout_path, {}, "kernels/layout.ptx"); !r) return r.error();
    programs.layout_entry = "layout_" + revision;
  }
  if (s.flush_l2) {
    if (const auto r = resolve(programs.delay_path, {}, "kernels/micro/delay.ptx"); !r) return r.error();
    programs.delay_entry = "delay";
  }
  return programs;
}

Expected<std::unique_ptr<IntranodeNode>> IntranodeNode::create(Cluster& cluster, const Scenario& scenario,
                                                               const Routing& routing, const TestData& data) {
  std::unique_ptr<IntranodeNode> node(new IntranodeNode(cluster, scenario, routing));
  if (const auto loaded = node->load_programs(); !loaded) return loaded.error();
  node->buffers_.resize(scenario.ranks);
  for (uint32_t rank = 0; rank < scenario.ranks; ++rank) {
    if (const auto allocated = node->allocate(rank); !allocated) return allocated.error();
    node->compute_.push_back(cluster.create_stream(GpuId{rank}, 0));
    node->comm_.push_back(
        cluster.create_stream(GpuId{rank}, -1));  // as the benchmark: a high-priority stream
  }
  for (uint32_t rank = 0; rank < scenario.ranks; ++rank) {
    const auto filled = scenario.kernel == KernelFamily::intranode_dispatch ? node->fill_dispatch(rank, data)
                                                                            : node->fill_combine(rank, data);
    if (!filled) return filled.error();
  }
  return node;
}

Expected<void> IntranodeNode::load_programs() {
  auto programs = scenario_programs(scenario_);
  if (!programs) return programs.error();
  programs_ = *programs;
  std::vector<std::pair<std::string, uint32_t>> loaded;  // one module per file
  const auto load = [&](const std::string& path, uint32_t& module) -> Expected<void> {
    if (path.empty()) return {};
    for (const auto& [known, number] : loaded)
      if (known == path) {
        module = number;
        return {};
      }
    const auto program = load_on(cluster_, scenario_, path, programs_.main_entry);
    if (!program) return program.error();
    loaded.emplace_back(path, module = program->module);
    return {};
  };
  const std::array<std::pair<const std::string*, uint32_t*>, 5> files = {
      {{&programs_.main_path, &main_module_},
       {&programs_.notify_path, &notify_module_},
       {&programs_.full_notify_path, &full_notify_module_},
       {&programs_.layout_path, &layout_module_},
       {&programs_.delay_path, &delay_module_}}};
  for (const auto& [path, module] : files)
    if (const auto read = load(*path, *module); !read) return read.error();
  return {};
}

CommBuffers IntranodeNode::comm_buffers(uint32_t rank) const {
  CommBuffers comm;
  for (uint32_t r = 0; r < scenario_.ranks; ++r) {
    comm.peer[r] = buffers_[r].comm;
    comm.signals[r] = buffers_[r].signals;
  }
  comm.matrix = layout_.matrix;
  comm.metadata = layout_.metadata;
  comm.rows = layout_.rows;
  comm.source = layout_.source;
  comm.idx = layout_.idx;
  comm.weights = layout_.weights;
  comm.scales = layout_.scales;
  comm.rank = static_cast<int32_t>(rank);
  comm.ranks = static_cast<int32_t>(scenario_.ranks);
  return comm;
}

// --- Launches
// ------------------------------------------------------------------------------------------------------

namespace {

/// All communication kernels are cooperative; revision D launches clusters of two where the number of CTAs
/// allows.
LaunchConfig communication_launch(const Scenario& scenario, uint32_t module, const std::string& entry,
                                  uint32_t ctas, uint32_t threads, std::string role) {
  LaunchConfig config;
  config.module = module;
  config.kernel = entry;
  config.grid.x = ctas;
  config.block.x = threads;
  config.cluster = scenario.revision == KernelRevision::d && ctas % 2 == 0 ? 2 : 1;
  config.cooperative = true;
  config.priority = -1;
  config.role = std::move(role);
  return config;
}

constexpr uint32_t kNotifyThreads = 128;

uint32_t main_threads(const Scenario& s) {
  return s.kernel == KernelFamily::intranode_dispatch && s.revision == KernelRevision::a ? 256 : 768;
}

/// Staging of revision D: 8 KiB per warp in dispatch, 8 stages of 512 B per warp in combine.
uint32_t main_shared_bytes(const Scenario& s) {
  if (s.revision == KernelRevision::a) return 0;
  return main_threads(s) / 32 * (s.kernel == KernelFamily::intranode_dispatch ? 8192 : 8 * 512);
}

int32_t as_int(uint64_t value) { return static_cast<int32_t>(value); }

}  // namespace

LaunchConfig IntranodeNode::notify_launch(uint32_t rank, int32_t barrier) const {
  const Scenario& s = scenario_;
  const bool dispatch = s.kernel == KernelFamily::intranode_dispatch;
  LaunchConfig config =
      communication_launch(s, notify_module_, programs_.notify_entry, dispatch ? 1 : 1 + s.channels(),
                           dispatch ? kNotifyThreads : std::max(kNotifyThreads, 32 * s.ranks), "notify");
  const RankBuffers& buffers = buffers_[rank];
  const int32_t channels = as_int(s.channels());
  config.parameters = dispatch ? pack_parameters(comm_buffers(rank), buffers.matrix, channels, barrier)
                               : pack_parameters(comm_buffers(rank), buffers.slot_record, as_int(s.tokens),
                                                 channels, barrier);
  return config;
}

LaunchConfig IntranodeNode::main_launch(uint32_t rank) const {
  const Scenario& s = scenario_;
  LaunchConfig config = communication_launch(s, main_module_, programs_.main_entry, s.sms, main_threads(s),
                                             std::string(family_word(s)));
  config.dynamic_shared_bytes = main_shared_bytes(s);
  const RankBuffers& b = buffers_[rank];
  const int32_t vectors = as_int(row_payload_bytes(s) / kVectorBytes), topk = as_int(topk_on_wire(s));
  if (s.kernel == KernelFamily::intranode_dispatch) {
    const DispatchInput in{b.input_rows,   b.input_scales, b.topk_idx,
                           b.topk_weights, b.membership,   b.channel_prefix};
    const DispatchOutput out{b.output_rows,    b.output_scales,   b.output_source, b.output_idx,
                             b.output_weights, b.channel_offsets, b.slot_record};
    const DispatchShape shape{
        as_int(s.tokens),     vectors,        as_int(s.scales()), topk, as_int(s.experts),
        as_int(s.ring_slots), as_int(s.chunk)};
    config.parameters = pack_parameters(comm_buffers(rank), in, out, shape);
  } else {
    const CombineInput in{
        b.input_rows, b.topk_weights, b.input_source, b.matrix, b.channel_offsets, b.slot_record, {}};
    const CombineOutput out{b.output_rows, b.output_weights};
    const CombineShape shape{as_int(s.tokens), vectors, topk, as_int(s.ring_slots), as_int(s.chunk)};
    config.parameters = pack_parameters(comm_buffers(rank), in, out, shape);
  }
  return config;
}

Expected<void> IntranodeNode::enqueue_full_notify(uint32_t rank, int32_t barrier) {
  constexpr uint32_t kLayoutThreads = 256, kRanksPerCta = 8;
  const Scenario& s = scenario_;
  const RankBuffers& b = buffers_[rank];
  const int32_t tokens = as_int(s.tokens), topk = as_int(s.topk), experts = as_int(s.experts),
                ranks = as_int(s.ranks);
  const uint32_t experts_per_cta = s.revision == KernelRevision::a ? 32 : 4;
  LaunchConfig layout;
  layout.module = layout_module_;
  layout.kernel = programs_.layout_entry;
  layout.grid.x =
      (s.experts + experts_per_cta - 1) / experts_per_cta + (s.ranks + kRanksPerCta - 1) / kRanksPerCta;
  layout.block.x = kLayoutThreads;
  layout.role = "layout";
  layout.parameters = pack_parameters(b.topk_idx, b.per_rank, DeviceAddress{0}, b.per_expert, b.membership,
                                      tokens, topk, experts, ranks);
  if (const auto launched = cluster_.launch(comm_[rank], std::move(layout)); !launched)
    return launched.error();

  LaunchConfig notify = communication_launch(s, full_notify_module_, programs_.full_notify_entry, 1 + s.ranks,
                                             kNotifyThreads, "notify");
  constexpr int32_t kExpertAlignment = 1;
  notify.parameters = pack_parameters(comm_buffers(rank), b.per_rank, b.per_expert, b.membership, b.matrix,
                                      b.channel_prefix, b.host_total, b.host_experts, tokens,
                                      as_int(s.channels()), experts, kExpertAlignment, barrier);
  if (const auto launched = cluster_.launch(comm_[rank], std::move(notify)); !launched)
    return launched.error();
  cluster_.synchronize(comm_[rank]);  // the host reads the totals and allocates before it goes on
  return {};
}

Expected<std::vector<RankCall>> IntranodeNode::enqueue_call(uint32_t call) {
  const bool full = scenario_.notify == NotifyMode::full && call == 0;
  std::vector<RankCall> calls(scenario_.ranks);
  for (uint32_t rank = 0; rank < scenario_.ranks; ++rank) {
    RankCall& mine = calls[rank];
    mine.start = cluster_.record(compute_[rank]);
    cluster_.wait(comm_[rank], mine.start);
    if (full) {
      if (const auto enqueued = enqueue_full_notify(rank, barriers_); !enqueued) return enqueued.error();
    } else {
      const auto notify = cluster_.launch(comm_[rank], notify_launch(rank, barriers_));
      if (!notify) return notify.error();
      mine.notify = *notify;
    }
    const auto main = cluster_.launch(comm_[rank], main_launch(rank));
    if (!main) return main.error();
    mine.main = *main;
    cluster_.wait(compute_[rank], cluster_.record(comm_[rank]));
    mine.end = cluster_.record(compute_[rank]);
  }
  barriers_ += full ? 3 : 2;
  return calls;
}

Expected<void> IntranodeNode::enqueue_delay() {
  // Longer than the host needs to enqueue a call, far shorter than the flush of 256 MB that it stands for.
  constexpr int64_t kCycles = 40000;
  for (uint32_t rank = 0; rank < scenario_.ranks; ++rank) {
    LaunchConfig config;
    config.module = delay_module_;
    config.kernel = programs_.delay_entry;
    config.role = "delay";
    config.parameters = pack_parameters(kCycles);
    if (const auto launched = cluster_.launch(compute_[rank], std::move(config)); !launched)
      return launched.error();
  }
  return {};
}

}  // namespace ptxwire::sim
