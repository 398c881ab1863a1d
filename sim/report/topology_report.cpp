#include "sim/report/topology_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/report/table.hpp"

namespace ptxwire::sim {
namespace {

using models::NetworkBound;
using models::NetworkLink;
using models::NetworkTopology;
using models::NicId;
using models::Relays;
using models::SwitchLevel;
using nlohmann::json;

constexpr size_t kNameWidth = 18;

std::string rate(double bytes_per_second) { return fmt::format("{:g} GB/s", bytes_per_second * 1e-9); }

std::string amount(double bytes) {
  if (bytes >= 1e9) return fmt::format("{:.4g} GB", bytes * 1e-9);
  if (bytes >= 1e6) return fmt::format("{:.4g} MB", bytes * 1e-6);
  if (bytes >= 1e3) return fmt::format("{:.4g} kB", bytes * 1e-3);
  return fmt::format("{:.0f} B", bytes);
}

std::string relays_name(Relays relays) {
  switch (relays) {
    case Relays::any:
      return "any";
    case Relays::same_rail:
      return "same rail";
    case Relays::none:
      return "none";
  }
  return {};
}

std::string counted(uint32_t count, const std::string& one, const std::string& more) {
  return std::to_string(count) + ' ' + (count == 1 ? one : more);
}

uint32_t switches_of(const NetworkTopology& network, SwitchLevel level) {
  uint32_t count = 0;
  for (uint32_t v = network.nics(); v < network.vertices(); ++v) count += network.level(v) == level ? 1 : 0;
  return count;
}

std::vector<std::string> path_names(const NetworkTopology& network, const std::vector<uint32_t>& path) {
  std::vector<std::string> names;
  for (const uint32_t vertex : path) names.push_back(network.vertex_name(vertex));
  return names;
}

/// "50 GB/s each", or "25 to 50 GB/s".
std::string nic_rates(const NetworkTopology& network) {
  double lowest = 0, highest = 0;
  for (uint32_t nic = 0; nic < network.nics(); ++nic) {
    const double its_rate = network.links()[network.nic_link(NicId{nic})].bytes_per_second;
    lowest = nic == 0 ? its_rate : std::min(lowest, its_rate);
    highest = std::max(highest, its_rate);
  }
  return lowest == highest ? rate(lowest) + " each" : fmt::format("{:g} to ", lowest * 1e-9) + rate(highest);
}

std::string nvlink_words(const models::Topology& node) {
  uint32_t links = 0;
  for (const models::TopologyEdge& edge : node.edges()) links += edge.a == 0 || edge.b == 0 ? edge.count : 0;
  return counted(node.switches(), "NVSwitch", "NVSwitches") + fmt::format(" per node; {} x ", links) +
         rate(node.edges().front().bytes_per_second) + " per GPU";
}

std::string ways_words(const NetworkTopology& network, const models::NetworkWays& ways) {
  if (ways.path.empty())
    return "none from " + network.vertex_name(ways.from.value) + " to " + network.vertex_name(ways.to.value) +
           " but with relays over NVLink";
  std::string text;
  for (const std::string& name : path_names(network, ways.path)) text += (text.empty() ? "" : " -> ") + name;
  return text + (ways.count > 1 ? fmt::format(", {:.0f} of this length", ways.count) : ", the only one");
}

void append_network(const TopologyReport& report, std::string& text) {
  const NetworkTopology& network = *report.network;
  const models::NetworkSummary& summary = report.summary;
  const auto line = [&](std::string name, const std::string& words) {
    name.resize(kNameWidth, ' ');
    text += "  " + name + wrapped(words, kNameWidth + 2, kNameWidth + 2);
  };
  line("vertices", counted(network.gpus(), "GPU", "GPUs") + ", " +
                       counted(network.nodes() * network.node().switches(), "NVSwitch", "NVSwitches") + ", " +
                       counted(network.nics(), "NIC", "NICs") + ", " +
                       counted(network.switches(), "InfiniBand switch", "InfiniBand switches"));
  line("NVLink", nvlink_words(network.node()) + fmt::format("; {} links in all", summary.nvlinks));
  if (network.nics() != 0) {
    line("NICs", fmt::format("{} in a node, {}, behind PCIe of {}", network.node().gpus(), nic_rates(network),
                             rate(network.pcie_bytes_per_second())));
    std::string switches = counted(switches_of(network, SwitchLevel::leaf), "leaf", "leaves");
    switches += ", " + counted(switches_of(network, SwitchLevel::spine), "spine", "spines");
    if (const uint32_t cores = switches_of(network, SwitchLevel::core); cores != 0)
      switches += ", " + counted(cores, "core", "cores");
    line("switches", switches);
    const auto all = static_cast<uint32_t>(network.links().size());
    line("links",
         fmt::format("{}: {} of NICs, {} between switches", all, network.nics(), all - network.nics()) +
             (summary.links_down == 0 ? "" : fmt::format("; {} down", summary.links_down)));
    line("rails", summary.rails == 0 ? "none: leaves serve NICs of several numbers"
                                     : fmt::format("{}: a leaf serves NICs of one number", summary.rails));
    line("planes", summary.planes == 1 ? "1: switches join all NICs"
                                       : fmt::format("{}: no switch joins them", summary.planes));
    line("oversubscription",
         summary.oversubscription == 0
             ? "none: leaves have no links up"
             : fmt::format("{:.3g} to 1: of a leaf, rate down to rate up", summary.oversubscription));
  }
  line("bisection", rate(summary.bisection_bytes_per_second) + " in each direction, between halves of the " +
                        (network.nodes() > 1 ? "nodes" : "GPUs"));
  for (const models::NetworkWays& ways : summary.ways)
    line(&ways == &summary.ways.front() ? "ways" : "", ways_words(network, ways));
  for (const std::string& fault : network.faults())
    line(&fault == &network.faults().front() ? "faults" : "", fault);
}

std::string binding_words(const NetworkBound& bound) {
  if (!bound.possible) return "no way: some of " + bound.whose + " reaches nobody";
  if (bound.cut.empty()) return "nothing to move";
  std::string text = bound.whose + ": " + amount(bound.bytes) + " over ";
  double together = 0;
  for (const models::CutPart& part : bound.cut) {
    text += fmt::format("{}{} link{} {}", &part == &bound.cut.front() ? "" : " and ", part.links,
                        part.links == 1 ? "" : "s", part.kind);
    together += part.bytes_per_second;
  }
  return text + ", " + rate(together);
}

}  // namespace

std::string topology_text(const TopologyReport& report) {
  std::string text = report.name + ": " + counted(report.network->nodes(), "node", "nodes") + " of " +
                     counted(report.network->node().gpus(), "GPU", "GPUs") + "\n";
  append_network(report, text);
  if (report.bounds.empty()) return text;
  text += "\nSpeed of light of " + report.traffic + ", at raw link rates\n";
  Table table({{"relays"}, {"time", Align::right}, {"bound by"}});
  for (const auto& [relays, bound] : report.bounds)
    table.add({relays_name(relays), bound.possible ? fixed(bound.seconds * 1e6, 1) + " us" : "",
               binding_words(bound)});
  text += table.text_wrapped(2);
  if (report.network->nodes() > 1)
    text += "\n" +
            wrapped(
                "Relays: 'any' lets GPUs pass on what they receive; 'same rail' goes through the own NIC to "
                "the NIC of that rail in the target's node and on over NVLink; 'none' goes from the own NIC "
                "to the target's.",
                0);
  return text;
}

std::string topology_json(const TopologyReport& report) {
  const NetworkTopology& network = *report.network;
  const models::NetworkSummary& summary = report.summary;
  json document = {{"name", report.name},
                   {"path", network.path()},
                   {"nodes", network.nodes()},
                   {"gpus", network.gpus()},
                   {"nvswitches", network.nodes() * network.node().switches()},
                   {"nvlinks", summary.nvlinks},
                   {"nics", network.nics()},
                   {"leaves", switches_of(network, SwitchLevel::leaf)},
                   {"spines", switches_of(network, SwitchLevel::spine)},
                   {"cores", switches_of(network, SwitchLevel::core)},
                   {"links", network.links().size()},
                   {"links_down", summary.links_down},
                   {"rails", summary.rails},
                   {"planes", summary.planes},
                   {"oversubscription", nullptr},
                   {"bisection_gb_per_s", summary.bisection_bytes_per_second * 1e-9},
                   {"faults", network.faults()},
                   {"ways", json::array()},
                   {"bounds", json::array()}};
  if (summary.oversubscription != 0) document["oversubscription"] = summary.oversubscription;
  for (const models::NetworkWays& ways : summary.ways)
    document["ways"].push_back({{"from", network.vertex_name(ways.from.value)},
                                {"to", network.vertex_name(ways.to.value)},
                                {"path", path_names(network, ways.path)},
                                {"count", ways.count}});
  for (const auto& [relays, bound] : report.bounds) {
    json cut = json::array();
    for (const models::CutPart& part : bound.cut)
      cut.push_back({{"kind", part.kind}, {"links", part.links}, {"gb_per_s", part.bytes_per_second * 1e-9}});
    json row = {{"relays", relays_name(relays)},
                {"time_us", nullptr},
                {"bound_by", bound.whose},
                {"bytes", bound.bytes},
                {"cut", cut}};
    if (bound.possible) row["time_us"] = bound.seconds * 1e6;
    document["bounds"].push_back(std::move(row));
  }
  return document.dump(2) + "\n";
}

}  // namespace ptxwire::sim
