#include "sim/workload/low_latency.hpp"

#include <algorithm>
#include <bit>

#include "sim/workload/kernel_arguments.hpp"
#include "sim/workload/run_parts.hpp"
#include "support/data_path.hpp"

namespace ptxwire::sim {

namespace {

constexpr uint64_t kSectionAlign = 128;
constexpr uint32_t kHeaderBytes = 16, kSpareBytes = 16;  ///< kernels/src/low_latency_{dispatch,combine}.cuh
constexpr int32_t kSendPhase = 1, kReceivePhase = 2;     ///< kernels/src/low_latency.cuh
constexpr uint32_t kWarpsPerCta = 32, kThreadsPerWarp = 32;

int32_t as_int(uint64_t value) { return static_cast<int32_t>(value); }

std::string_view revision_word(const Scenario& s) { return s.revision == KernelRevision::a ? "a" : "c"; }

}  // namespace

uint64_t dispatch_message_bytes(const Scenario& s) { return kHeaderBytes + s.row_bytes(); }
uint64_t dispatch_payload_offset(const Scenario& s) {
  return s.revision == KernelRevision::a ? 0 : kHeaderBytes;
}
uint64_t combine_row_bytes(const Scenario& s) { return uint64_t{2} * s.hidden; }
uint64_t combine_slot_bytes(const Scenario& s) {
  return combine_row_bytes(s) + (s.revision == KernelRevision::a ? kSpareBytes : 0);
}

LowLatencyLayout::LowLatencyLayout(const Scenario& s) {
  const uint64_t message = dispatch_message_bytes(s), slot = combine_slot_bytes(s);
  const uint64_t slots = uint64_t{s.experts} * s.tokens;
  const auto section = [this](uint64_t size) {
    const uint64_t offset = bytes;
    bytes = (bytes + size + kHeaderBytes + kSectionAlign - 1) / kSectionAlign * kSectionAlign;
    return offset;
  };
  for (Half& half : halves) {
    half.flags = section(s.experts * sizeof(int32_t));
    half.send = section(std::max(s.tokens * message, slots * slot));
    half.receive = section(slots * std::max(message, slot));
  }
}

Expected<LowLatencyPrograms> low_latency_programs(const Scenario& s) {
  LowLatencyPrograms programs;
  const bool dispatch = s.kernel == KernelFamily::low_latency_dispatch;
  const auto resolve = [&s](std::string& out, bool is_main, const std::string& data_file) -> Expected<void> {
    auto path = is_main && !s.ptx.empty() ? Expected<std::string>(s.ptx) : find_data_file(data_file);
    if (!path) return path.error();
    out = *path;
    return {};
  };
  if (const auto r = resolve(programs.dispatch_path, dispatch, "kernels/low_latency_dispatch.ptx"); !r)
    return r.error();
  if (const auto r = resolve(programs.combine_path, !dispatch, "kernels/low_latency_combine.ptx"); !r)
    return r.error();
  if (const auto r = resolve(programs.delay_path, false, "kernels/micro/delay.ptx"); !r) return r.error();
  const std::string revision(revision_word(s));
  programs.dispatch_entry =
      "low_latency_dispatch_" + revision + (s.elements == ElementType::bf16 ? "_bf16" : "");
  programs.combine_entry = "low_latency_combine_" + revision;
  if (!s.entry.empty()) (dispatch ? programs.dispatch_entry : programs.combine_entry) = s.entry;
  return programs;
}

bool low_latency_uses_network(const Scenario& s) {
  return is_low_latency(s.kernel) && (s.revision == KernelRevision::a || s.ranks > kGpusPerNode);
}

RoutingShape low_latency_routing(const Scenario& s) {
  return {.ranks = s.ranks,
          .tokens = s.tokens,
          .topk = s.topk,
          .experts = s.experts,
          .pattern = s.routing,
          .zipf_exponent = s.zipf_exponent,
          .seed = s.seed,
          .void_selections = s.void_selections};
}

Expected<std::unique_ptr<LowLatencyRun>> LowLatencyRun::create(Cluster& cluster, const Scenario& scenario,
                                                               const Routing& routing, const TestData& data) {
  std::unique_ptr<LowLatencyRun> run(new LowLatencyRun(cluster, scenario, routing));
  const uint32_t sms = cluster.machine().sm.count;
  run->groups_ = (scenario.experts + sms - 1) / sms;
  if (const auto loaded = run->load_programs(); !loaded) return loaded.error();
  if (const auto created = run->create_heap(); !created) return created.error();
  run->buffers_.resize(scenario.ranks);
  for (uint32_t rank = 0; rank < scenario.ranks; ++rank) {
    if (const auto allocated = run->allocate(rank); !allocated) return allocated.error();
    if (scenario.elide)
      if (const auto elided = run->elide(rank); !elided) return elided.error();
    if (const auto filled = run->fill_tokens(rank, data); !filled) return filled.error();
    if (const auto filled = run->fill_summands(rank, data); !filled) return filled.error();
    run->streams_.push_back(cluster.create_stream(GpuId{rank}, 0));
  }
  return run;
}

Expected<void> LowLatencyRun::load_programs() {
  const auto programs = low_latency_programs(scenario_);
  if (!programs) return programs.error();
  programs_ = *programs;
  const std::string& main = scenario_.kernel == KernelFamily::low_latency_dispatch ? programs_.dispatch_entry
                                                                                   : programs_.combine_entry;
  const auto load = [&](const std::string& path, uint32_t& module) -> Expected<void> {
    const auto program = load_on(cluster_, scenario_, path, main);
    if (!program) return program.error();
    module = program->module;
    return {};
  };
  if (const auto r = load(programs_.dispatch_path, dispatch_module_); !r) return r.error();
  if (const auto r = load(programs_.combine_path, combine_module_); !r) return r.error();
  return load(programs_.delay_path, delay_module_);
}

Expected<void> LowLatencyRun::create_heap() {
  const Scenario& s = scenario_;
  RdmaHeapConfig config;
  config.ranks = s.ranks;
  config.heap_bytes = layout_.bytes;
  config.network = low_latency_uses_network(s);
  config.queues_per_rank = s.queues != 0 ? s.queues : local_experts();
  config.queue_entries = low_latency_queue_entries(s);
  config.options.virtual_lane = static_cast<uint8_t>(s.virtual_lane);
  config.options.adaptive = s.adaptive_routing;
  if (s.revision != KernelRevision::a)
    config.connected = [](uint32_t a, uint32_t b) { return a / kGpusPerNode != b / kGpusPerNode; };
  auto heap = RdmaHeap::create(cluster_, config);
  if (!heap) return heap.error();
  heap_ = *std::move(heap);
  return {};
}

// --- Launches
// ------------------------------------------------------------------------------------------------------

LowLatencySet LowLatencyRun::set(uint32_t rank, uint32_t half) const {
  const DeviceAddress heap = heap_->heap(rank);
  const LowLatencyLayout::Half& own = layout_.halves[half];
  return {heap + own.send, heap + own.receive, heap + own.flags, heap + layout_.halves[1 - half].flags};
}

LowLatencyShape LowLatencyRun::shape(int32_t phases) const {
  const Scenario& s = scenario_;
  return {as_int(s.tokens), as_int(s.hidden),         as_int(s.topk), as_int(s.experts),
          as_int(groups_),  as_int(s.doorbell_batch), phases};
}

LaunchConfig LowLatencyRun::kernel_launch(uint32_t module, const std::string& entry) const {
  LaunchConfig config;
  config.module = module;
  config.kernel = entry;
  config.grid.x = (scenario_.experts + groups_ - 1) / groups_;
  config.block.x = kWarpsPerCta / groups_ * groups_ * kThreadsPerWarp;
  config.cooperative = true;
  return config;
}

LaunchConfig LowLatencyRun::dispatch_launch(uint32_t rank, int32_t phases) const {
  LaunchConfig config = kernel_launch(dispatch_module_, programs_.dispatch_entry);
  config.role = "dispatch";
  const LowLatencyBuffers& b = buffers_[rank];
  config.parameters = pack_parameters(heap_->state(rank), set(rank, half_), b.work,
                                      LowLatencyDispatchInput{b.rows, b.experts}, b.received, shape(phases));
  return config;
}

LaunchConfig LowLatencyRun::combine_launch(uint32_t rank, int32_t phases) const {
  LaunchConfig config = kernel_launch(combine_module_, programs_.combine_entry);
  config.role = "combine";
  const LowLatencyBuffers& b = buffers_[rank];
  const LowLatencyCombineInput in{b.summands,        static_cast<int64_t>(b.summand_stride),
                                  b.received.source, b.received.segments,
                                  b.experts,         b.weights};
  config.parameters =
      pack_parameters(heap_->state(rank), set(rank, half_), b.work, in, b.combined, shape(phases));
  return config;
}

Expected<void> LowLatencyRun::enqueue_wait(uint32_t rank, int64_t cycles, const char* role) {
  LaunchConfig config;
  config.module = delay_module_;
  config.kernel = "delay";
  config.role = role;
  config.parameters = pack_parameters(cycles);
  const auto launched = cluster_.launch(streams_[rank], std::move(config));
  if (!launched) return launched.error();
  return {};
}

Expected<void> LowLatencyRun::enqueue_delay(uint32_t pairs) {
  constexpr int64_t kCyclesPerPair = 40000;  // longer than the host needs to enqueue one
  for (uint32_t rank = 0; rank < scenario_.ranks; ++rank)
    if (const auto done = enqueue_wait(rank, kCyclesPerPair * (pairs + 1), "delay"); !done)
      return done.error();
  return {};
}

Expected<std::vector<LaunchId>> LowLatencyRun::enqueue_kernel(
    uint32_t rank, LaunchConfig (LowLatencyRun::*launch)(uint32_t, int32_t) const) {
  // Stands for the compute that hides the way of the messages; longer than that.
  constexpr int64_t kHiddenCycles = 1000000;
  std::vector<LaunchId> launches;
  const auto enqueue = [&](int32_t phases) -> Expected<void> {
    const auto launched = cluster_.launch(streams_[rank], (this->*launch)(rank, phases));
    if (!launched) return launched.error();
    launches.push_back(*launched);
    return {};
  };
  if (scenario_.phases == PhaseMode::together) {
    if (const auto done = enqueue(kSendPhase | kReceivePhase); !done) return done.error();
    return launches;
  }
  if (const auto done = enqueue(kSendPhase); !done) return done.error();
  if (const auto done = enqueue_wait(rank, kHiddenCycles, "compute"); !done) return done.error();
  if (const auto done = enqueue(kReceivePhase); !done) return done.error();
  return launches;
}

Expected<std::vector<LowLatencyCall>> LowLatencyRun::enqueue_pair() {
  std::vector<LowLatencyCall> calls(scenario_.ranks);
  for (uint32_t rank = 0; rank < scenario_.ranks; ++rank) {
    auto launches = enqueue_kernel(rank, &LowLatencyRun::dispatch_launch);
    if (!launches) return launches.error();
    calls[rank].dispatch = *std::move(launches);
  }
  half_ = 1 - half_;
  for (uint32_t rank = 0; rank < scenario_.ranks; ++rank) {
    auto launches = enqueue_kernel(rank, &LowLatencyRun::combine_launch);
    if (!launches) return launches.error();
    calls[rank].combine = *std::move(launches);
  }
  half_ = 1 - half_;
  return calls;
}

}  // namespace ptxwire::sim
