#include "sim/workload/expert_calls.hpp"

#include <array>
#include <utility>

#include "sim/workload/device_buffers.hpp"
#include "sim/workload/faults.hpp"
#include "sim/workload/internode.hpp"
#include "sim/workload/kernel_arguments.hpp"
#include "sim/workload/mirror.hpp"
#include "sim/workload/run_parts.hpp"
#include "support/data_path.hpp"

namespace ptxwire::sim {

namespace {

std::string_view revision_letter(KernelRevision revision) {
  constexpr std::array<std::string_view, 4> kLetters = {"a", "b", "c", "d"};
  return kLetters[static_cast<size_t>(revision)];
}

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

/// State of the layout kernel that goes with the others: a counts 32 experts per CTA, d four.
std::string_view layout_revision(const Scenario& s) { return s.revision == KernelRevision::d ? "d" : "a"; }

int32_t as_int(uint64_t value) { return static_cast<int32_t>(value); }

}  // namespace

bool is_dispatch(const Scenario& s) {
  return s.kernel == KernelFamily::intranode_dispatch || s.kernel == KernelFamily::internode_dispatch;
}

uint64_t row_payload_bytes(const Scenario& s) {
  return uint64_t{s.hidden} * (s.elements == ElementType::fp8 ? 1 : 2);
}

uint32_t topk_on_wire(const Scenario& s) { return s.send_topk ? s.topk : 0; }

Expected<ScenarioPrograms> scenario_programs(const Scenario& s) {
  const bool across = is_internode(s.kernel);
  const std::string prefix = across ? "internode_" : "";
  const std::string revision(revision_letter(s.revision));
  const std::string main = (is_dispatch(s) ? "dispatch_" : "combine_") + revision;
  ScenarioPrograms programs;
  const auto resolve = [](std::string& out, const std::string& given,
                          const std::string& data_file) -> Expected<void> {
    auto path = program_path(given, data_file);
    if (!path) return path.error();
    out = *path;
    return {};
  };
  const std::string notify = "kernels/" + prefix + "notify.ptx";
  if (const auto r = resolve(programs.main_path, s.ptx, "kernels/" + prefix + main + ".ptx"); !r)
    return r.error();
  programs.main_entry = !s.entry.empty() ? s.entry
                        : across         ? prefix + main + "_" + std::to_string(internode_fan_out(s))
                                         : main + std::string(hint_suffix(s.hints));
  if (const auto r = resolve(programs.notify_path, s.notify_ptx, notify); !r) return r.error();
  programs.notify_entry = s.notify_entry.empty() ? prefix + "cached_notify_" + main : s.notify_entry;
  if (s.notify == NotifyMode::full) {
    if (const auto r = resolve(programs.full_notify_path, {}, notify); !r) return r.error();
    programs.full_notify_entry = prefix + "notify_dispatch_" + revision;
    if (const auto r = resolve(programs.layout_path, {}, "kernels/layout.ptx"); !r) return r.error();
    programs.layout_entry = "layout_" + std::string(layout_revision(s));
  }
  if (times_last_call_alone(s)) {
    if (const auto r = resolve(programs.delay_path, {}, "kernels/micro/delay.ptx"); !r) return r.error();
    programs.delay_entry = "delay";
  }
  return programs;
}

Expected<void> ExpertCalls::prepare() {
  if (const auto loaded = load_programs(); !loaded) return loaded.error();
  for (uint32_t rank = 0; rank < simulated_ranks(scenario_); ++rank) {
    compute_.push_back(cluster_.create_stream(GpuId{rank}, 0));
    comm_.push_back(cluster_.create_stream(GpuId{rank}, -1));  // as the benchmark: a high-priority stream
  }
  return {};
}

Expected<void> ExpertCalls::load_programs() {
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
      {{&programs_.main_path, &modules_.main},
       {&programs_.notify_path, &modules_.notify},
       {&programs_.full_notify_path, &modules_.full_notify},
       {&programs_.layout_path, &modules_.layout},
       {&programs_.delay_path, &modules_.delay}}};
  for (const auto& [path, module] : files)
    if (const auto read = load(*path, *module); !read) return read.error();
  return {};
}

LaunchConfig ExpertCalls::communication_launch(uint32_t module, const std::string& entry, uint32_t ctas,
                                               uint32_t threads, std::string role) const {
  LaunchConfig config;
  config.module = module;
  config.kernel = entry;
  config.grid.x = ctas;
  config.block.x = threads;
  config.cluster = scenario_.revision == KernelRevision::d && ctas % 2 == 0 ? 2 : 1;
  config.cooperative = true;
  config.priority = -1;
  config.role = std::move(role);
  return config;
}

LaunchConfig ExpertCalls::layout_launch(const LayoutBuffers& b) const {
  constexpr uint32_t kLayoutThreads = 256, kRanksPerCta = 8;
  const Scenario& s = scenario_;
  const uint32_t experts_per_cta = layout_revision(s) == "d" ? 4 : 32;
  LaunchConfig layout;
  layout.module = modules_.layout;
  layout.kernel = programs_.layout_entry;
  layout.grid.x =
      (s.experts + experts_per_cta - 1) / experts_per_cta + (s.ranks + kRanksPerCta - 1) / kRanksPerCta;
  layout.block.x = kLayoutThreads;
  layout.role = "layout";
  layout.parameters = pack_parameters(b.experts_of_tokens, b.per_rank, b.per_node, b.per_expert, b.membership,
                                      as_int(s.tokens), as_int(s.topk), as_int(s.experts), as_int(s.ranks));
  return layout;
}

Expected<std::vector<RankCall>> ExpertCalls::enqueue_call(uint32_t call) {
  const bool full = scenario_.notify == NotifyMode::full && call == 0;
  std::vector<RankCall> calls(simulated_ranks(scenario_));
  for (uint32_t rank = 0; rank < simulated_ranks(scenario_); ++rank) {
    RankCall& mine = calls[rank];
    mine.start = cluster_.record(compute_[rank]);
    cluster_.wait(comm_[rank], mine.start);
    if (full) {
      for (LaunchConfig& launch : full_notify_launches(rank, barriers_))
        if (const auto launched = cluster_.launch(comm_[rank], std::move(launch)); !launched)
          return launched.error();
      cluster_.synchronize(comm_[rank]);  // the host reads the totals and allocates before it goes on
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

Expected<void> ExpertCalls::enqueue_delay() {
  // Longer than the host needs to enqueue a call, far shorter than the flush of 256 MB that it stands for.
  constexpr int64_t kCycles = 40000;
  for (uint32_t rank = 0; rank < simulated_ranks(scenario_); ++rank) {
    LaunchConfig config;
    config.module = modules_.delay;
    config.kernel = programs_.delay_entry;
    config.role = "delay";
    config.parameters = pack_parameters(kCycles);
    if (const auto launched = cluster_.launch(compute_[rank], std::move(config)); !launched)
      return launched.error();
  }
  return {};
}

Expected<void> ExpertCalls::fill_tokens(uint32_t rank, const TokenBuffers& buffers, const TestData& data,
                                        uint32_t real_tokens) const {
  const Scenario& s = scenario_;
  const uint64_t payload = row_payload_bytes(s);
  const std::span<uint8_t> rows = cluster_.view(buffers.rows, real_tokens * payload);
  const std::span<float> scales =
      view_values<float>(cluster_, buffers.scales, uint64_t{s.tokens} * s.scales());
  if (rows.size() != real_tokens * payload || scales.size() != uint64_t{s.tokens} * s.scales())
    return no_view();
  for (uint32_t token = 0; token < s.tokens; ++token) {
    if (token < real_tokens) data.fill_row(rank, token, rows.subspan(token * payload, payload));
    for (uint32_t i = 0; i < s.scales(); ++i)
      scales[uint64_t{token} * s.scales() + i] = data.scale(rank, token, i);
  }
  BufferWriter write(cluster_);
  if (buffers.topk_idx != 0) write(buffers.topk_idx, routing_.experts(rank));
  if (buffers.topk_weights != 0) {
    std::vector<float> weights;
    for (uint32_t token = 0; token < s.tokens; ++token)
      for (uint32_t k = 0; k < s.topk; ++k) weights.push_back(data.weight(rank, token, k));
    write(buffers.topk_weights, weights);
  }
  return write.result();
}

}  // namespace ptxwire::sim
