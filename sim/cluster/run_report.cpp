// What a run is told about: differences of the cumulative counters of devices, memory and links.
#include <algorithm>

#include "sim/cluster/cluster_implementation.hpp"

namespace ptxwire::sim {

using models::LogicalProcess;
using models::Picoseconds;

ClusterImplementation::Before ClusterImplementation::snapshot() const {
  Before before;
  for (const std::unique_ptr<LogicalProcess>& process : processes_)
    before.events += process->events_handled();
  for (uint32_t g = 0; g < gpu_count_; ++g) {
    before.memory.push_back(systems_[g]->counters());
    before.tensor_busy_clk.push_back(devices_[g]->tensor_busy_clk());
    auto& links = before.links.emplace_back();
    for (uint32_t l = 0; l < machine_.nvlink.links_per_gpu; ++l)
      links.push_back({nvlink_of(g).egress_use(GpuId{g}, l), nvlink_of(g).ingress_use(GpuId{g}, l)});
  }
  for (uint32_t g = 0; g < nics_.size(); ++g) before.nics.push_back(nic_use(g));
  return before;
}

ClusterImplementation::Before::NicUse ClusterImplementation::nic_use(uint32_t gpu) const {
  const models::Nic& nic = nics_[gpu]->nic();
  const models::NicId id{gpu};
  return {.counters = nic.counters(),
          .egress = infiniband_->egress_use(id).use,
          .ingress = infiniband_->ingress_use(id).use,
          .pcie = nic.pcie().busy_together()};
}

namespace {
Picoseconds mean_time(const models::NicCounters& now, const models::NicCounters& before) {
  const auto over = static_cast<int64_t>(now.messages_over - before.messages_over);
  return {over == 0 ? 0 : (now.time_of_messages - before.time_of_messages).value / over};
}
}  // namespace

GpuReport::NicReport ClusterImplementation::report_nic(uint32_t gpu, const Before::NicUse& before,
                                                       double seconds) const {
  const Before::NicUse now = nic_use(gpu);
  const auto share = [seconds](Picoseconds later, Picoseconds earlier) {
    return static_cast<double>((later - earlier).value) * 1e-12 / seconds;
  };
  const models::NicCounters &counters = now.counters, &old = before.counters;
  return {.doorbells = counters.doorbells - old.doorbells,
          .messages = counters.messages - old.messages,
          .completions = counters.completions - old.completions,
          .message_time = mean_time(counters, old),
          .sent_payload_bytes = counters.payload_sent_bytes - old.payload_sent_bytes,
          .received_payload_bytes = counters.payload_received_bytes - old.payload_received_bytes,
          .sent_wire_bytes = counters.wire_sent_bytes - old.wire_sent_bytes,
          .egress_utilisation = share(now.egress.busy, before.egress.busy),
          .ingress_utilisation = share(now.ingress.busy, before.ingress.busy),
          .egress_blocked_share = share(now.egress.blocked, before.egress.blocked),
          .pcie_utilisation = share(now.pcie, before.pcie)};
}

std::vector<L2Evictions> ClusterImplementation::evictions(const models::MemoryCounters& now,
                                                          const models::MemoryCounters& old) const {
  std::vector<L2Evictions> result;
  for (unsigned evictor = 0; evictor < models::kMaxOwners; ++evictor) {
    for (unsigned victim = 0; victim < models::kMaxOwners; ++victim) {
      const uint64_t lines = now.l2_evictions[evictor][victim] - old.l2_evictions[evictor][victim];
      if (lines != 0) result.push_back({owner_name(evictor), owner_name(victim), lines});
    }
  }
  return result;
}

std::string ClusterImplementation::owner_name(unsigned owner) const {
  return owner == kOtherOwners ? "others" : owners_[owner];
}

void ClusterImplementation::report_memory(GpuReport& out, const models::MemoryCounters& now,
                                          const models::MemoryCounters& old, double seconds) const {
  const auto share = [&](Picoseconds busy, uint32_t units) {
    return static_cast<double>(busy.value) * 1e-12 / seconds / units;
  };
  out.l2_read_bytes = (now.l2_sector_reads - old.l2_sector_reads) * models::kSectorBytes;
  out.l2_read_miss_bytes = (now.l2_sector_read_misses - old.l2_sector_read_misses) * models::kSectorBytes;
  out.l2_write_bytes = (now.l2_sector_writes - old.l2_sector_writes) * models::kSectorBytes;
  out.l2_utilisation = share(now.l2_busy - old.l2_busy, machine_.l2.slices);
  out.l2_lines = machine_.l2.bytes / models::kLineBytes;
  out.l2_evictions = evictions(now, old);
  for (unsigned owner = 0; owner < models::kMaxOwners; ++owner)
    if (now.l2_peak_lines[owner] != 0)
      out.l2_holdings.push_back({owner_name(owner), now.l2_lines[owner], now.l2_peak_lines[owner]});
  out.hbm_read_bytes = now.hbm.read_bytes - old.hbm.read_bytes;
  out.hbm_write_bytes = now.hbm.write_bytes - old.hbm.write_bytes;
  out.hbm_row_hits = now.hbm.row_hits - old.hbm.row_hits;
  out.hbm_row_openings =
      now.hbm.row_misses + now.hbm.row_conflicts - old.hbm.row_misses - old.hbm.row_conflicts;
  out.hbm_turnarounds = now.hbm.turnarounds - old.hbm.turnarounds;
  out.hbm_utilisation = share(now.hbm.busy - old.hbm.busy, machine_.hbm.channels);
  out.hbm_activate_utilisation = share(now.hbm.activating - old.hbm.activating, machine_.hbm.channels);
}

RunReport ClusterImplementation::report(Picoseconds begin, Picoseconds end, const Before& before) {
  RunReport result;
  result.time = end - begin;
  for (const std::unique_ptr<LogicalProcess>& process : processes_)
    result.events += process->events_handled();
  result.events -= before.events;
  for (const EnqueuedLaunch& enqueued : launches_) {
    const Launch& launch = enqueued.launch;
    LaunchReport& out = result.launches.emplace_back();
    out.id = enqueued.id;
    out.gpu = enqueued.gpu;
    out.kernel = launch.program->program().functions[launch.function].name;
    out.role = enqueued.role;
    out.ctas = launch.ctas;
    out.footprint = launch.footprint;
    out.started = launch.started - begin;
    out.finished = launch.finished - begin;
    out.warp_instructions = launch.instructions + launch.charged_instructions;
    result.warp_instructions += out.warp_instructions;
    result.parked_instructions += launch.charged_instructions;
    const models::ClockDomain clock(machine_.sm.clock_hz);
    for (size_t slot = 0; slot < launch.profile.size(); ++slot) {
      const Launch::Profile& from = launch.profile[slot];
      LaunchReport::WarpSlot& to = out.slots.emplace_back();
      to.profile.warps = from.warps;
      to.profile.instructions = from.instructions;
      for (size_t w = 0; w < from.waited.size(); ++w)
        to.profile.time[w] = clock.time(std::max<int64_t>(0, from.waited[w]));
      for (size_t w = 0; w < from.polled_for.size(); ++w) to.polled_for[w] = clock.time(from.polled_for[w]);
      to.polls = from.polls;
      to.doorbells = from.doorbells;
      out.profile[slot / 32] += to.profile;
    }
  }
  const double seconds = static_cast<double>(std::max<int64_t>(result.time.value, 1)) * 1e-12;
  for (uint32_t g = 0; g < gpu_count_; ++g) {
    const models::MemoryCounters& now = systems_[g]->counters();
    const models::MemoryCounters& old = before.memory[g];
    GpuReport& out = result.gpus.emplace_back();
    report_memory(out, now, old, seconds);
    out.nvlink_sent_payload_bytes = now.nvlink_sent_payload_bytes - old.nvlink_sent_payload_bytes;
    out.nvlink_sent_wire_bytes = now.nvlink_sent_wire_bytes - old.nvlink_sent_wire_bytes;
    out.tensor_core_utilisation = (devices_[g]->tensor_busy_clk() - before.tensor_busy_clk[g]) /
                                  machine_.sm.clock_hz / seconds / machine_.sm.count;
    if (!nics_.empty()) out.nic = report_nic(g, before.nics[g], seconds);
    const uint32_t links = machine_.nvlink.links_per_gpu;
    for (uint32_t l = 0; l < links; ++l) {
      const models::LinkUse egress = nvlink_of(g).egress_use(GpuId{g}, l);
      const models::LinkUse ingress = nvlink_of(g).ingress_use(GpuId{g}, l);
      const auto& [egress_before, ingress_before] = before.links[g][l];
      const double busy = static_cast<double>((egress.busy - egress_before.busy).value) * 1e-12 / seconds;
      out.nvlink_egress_utilisation += busy / links;
      out.nvlink_egress_max_utilisation = std::max(out.nvlink_egress_max_utilisation, busy);
      out.nvlink_ingress_utilisation +=
          static_cast<double>((ingress.busy - ingress_before.busy).value) * 1e-12 / seconds / links;
      out.nvlink_blocked_share +=
          static_cast<double>((egress.blocked - egress_before.blocked).value) * 1e-12 / seconds / links;
    }
  }
  for (const Background& background : backgrounds_) {
    BackgroundReport& out = result.backgrounds.emplace_back(background.report);
    out.started = out.started - begin;
    out.finished = out.finished - begin;
  }
  result.rdma_errors = rdma_errors();
  std::vector<std::pair<Picoseconds, std::string>> printed;
  for (const std::unique_ptr<Device>& device : devices_)
    printed.insert(printed.end(), device->printed().begin(), device->printed().end());
  std::stable_sort(printed.begin(), printed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [time, text] : printed) result.printf_output += text;
  return result;
}

}  // namespace ptxwire::sim
