#include "sim/exec/grid_scheduler.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/exec/device.hpp"
#include "sim/exec/sm.hpp"

namespace ptxwire::sim {

using models::Picoseconds;

GridScheduler::GridScheduler(Device& device) : device_(device), partition_(device.group().machine->sm) {}

void GridScheduler::submit(Launch& launch) {
  const auto less_urgent = [&](const Launch* other) { return other->priority > launch.priority; };
  pending_.insert(std::find_if(pending_.begin(), pending_.end(), less_urgent), &launch);
  models::LogicalProcess& process = device_.process();
  process.at(process.now(), place_event_, 0);
}

void GridScheduler::place_ctas(Picoseconds now, uint64_t /*argument*/) {
  while (!pending_.empty()) {
    Launch& head = *pending_.front();
    // A cooperative grid starts whole or waits; a cluster always does.
    if (head.cooperative && head.next_cta == 0 &&
        !partition_.fits_whole(head.footprint, head.cluster, head.ctas))
      return;
    while (head.next_cta < head.ctas)
      if (!place_cluster(head, now)) return;
    pending_.erase(pending_.begin());
  }
}

bool GridScheduler::place_cluster(Launch& launch, Picoseconds now) {
  const std::vector<uint32_t> chosen = partition_.choose(launch.footprint, launch.cluster);
  if (chosen.empty()) return false;
  const int64_t cycle = device_.cycle(now);
  if (launch.next_cta == 0) launch.started = now;
  std::vector<Cta*> ctas;
  for (uint32_t rank = 0; rank < chosen.size(); ++rank) {
    models::SmRoom& room = partition_.room(chosen[rank]);
    const uint32_t first_scheduler = room.take(launch.footprint);
    Cta& cta = device_.sm(chosen[rank])
                   .place(launch, launch.next_cta++, first_scheduler, room.shared_bytes(), cycle);
    cta.cluster_rank = rank;
    ctas.push_back(&cta);
  }
  for (Cta* cta : ctas) {
    cta->cluster = ctas;
    device_.sm(cta->sm).start(*cta, cycle + device_.group().machine->sm.cta_launch_clk);
  }
  return true;
}

void GridScheduler::give_back(const Cta& cta, Picoseconds now) {
  partition_.room(cta.sm).give_back(cta.launch->footprint, cta.first_scheduler);
  if (!pending_.empty()) device_.process().at(now, place_event_, 0);
}

void GridScheduler::waiting_report(std::vector<std::string>& lines) const {
  for (const Launch* launch : pending_)
    lines.push_back(fmt::format("GPU {} kernel '{}' has {} of {} CTAs placed: {}", device_.id().value,
                                launch->program->program().functions[launch->function].name, launch->next_cta,
                                launch->ctas,
                                launch == pending_.front() ? "the others do not fit beside what is there"
                                                           : "it waits for the kernels before it"));
}

}  // namespace ptxwire::sim
