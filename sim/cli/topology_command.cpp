#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "models/fabric/network_bound.hpp"
#include "models/fabric/network_summary.hpp"
#include "models/fabric/network_topology.hpp"
#include "models/machines/quantity.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/output.hpp"
#include "sim/report/files.hpp"
#include "sim/report/graphviz.hpp"
#include "sim/report/topology_drawing.hpp"
#include "sim/report/topology_report.hpp"
#include "sim/study/traffic.hpp"
#include "support/data_path.hpp"
#include "support/nearest.hpp"

namespace ptxwire::cli {
namespace {

constexpr std::string_view kFolder = "models/fabric/topologies";

std::vector<std::string> shipped_names() {
  std::vector<std::string> names;
  const Expected<std::string> folder = find_data_file(kFolder);
  if (!folder) return names;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(*folder, failed))
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

Expected<std::string> topology_path(const std::string& name) {
  std::error_code failed;
  if (std::filesystem::is_regular_file(name, failed)) return name;
  if (name.find('/') == std::string::npos) {
    const std::string file = std::string(kFolder) + "/" + name + ".toml";
    if (Expected<std::string> found = find_data_file(file)) return found;
  }
  const std::string meant = suggestion(name, shipped_names());
  return Error{.message = "no topology '" + name + "'",
               .hint = meant.empty()
                           ? "a name in " + std::string(kFolder) + ", or the path of a topology file"
                           : meant};
}

/// "NAME=0.5" or "NAME=50 %".
Expected<void> slow_down(models::NetworkTopology& network, const std::string& text) {
  const Error expected{.message = "--slow '" + text + "': expected NAME=FACTOR, as in nic3=0.5"};
  const size_t equals = text.find('=');
  if (equals == std::string::npos) return expected;
  const Expected<models::WrittenQuantity> written =
      models::split_quantity(std::string_view(text).substr(equals + 1));
  if (!written) return expected;
  const Expected<double> unit =
      models::unit_factor(written->unit.empty() ? "ratio" : written->unit, models::Dimension::ratio);
  if (!unit) return expected;
  return network.slow(text.substr(0, equals), written->value * *unit);
}

Expected<models::NetworkTopology> load(const TopologyCommand& command) {
  const Expected<std::string> path = topology_path(command.topology);
  if (!path) return path.error();
  Expected<models::NetworkTopology> network = models::NetworkTopology::load(*path);
  if (!network) return network;
  for (const std::string& name : command.failed)
    if (Expected<void> done = network->fail(name); !done) return done.error();
  for (const std::string& text : command.slowed)
    if (Expected<void> done = slow_down(*network, text); !done) return done.error();
  return network;
}

Expected<void> add_bounds(const TopologyCommand& command, sim::TopologyReport& report) {
  const uint32_t gpus = report.network->gpus();
  const bool from_file = !command.traffic.empty();
  const Expected<models::TrafficMatrix> traffic = from_file
                                                      ? sim::read_traffic(command.traffic, gpus)
                                                      : sim::all_to_all_traffic(command.all_to_all, gpus);
  if (!traffic) {
    Error error = traffic.error();
    if (!from_file) error.message = "--all-to-all: " + error.message;
    return error;
  }
  report.traffic = (from_file ? command.traffic : command.all_to_all + " from each GPU to each other") +
                   " (" + std::to_string(sim::total_bytes(*traffic)) + " B in all)";
  using enum models::Relays;
  for (const models::Relays relays : {any, same_rail, none}) {
    // Within a node every GPU reaches every other: the three are one.
    if (report.network->nodes() == 1 && relays != any) continue;
    report.bounds.emplace_back(relays, models::network_bound(*report.network, *traffic, relays));
  }
  return {};
}

}  // namespace

Expected<int> topology_command(const TopologyCommand& command) {
  if (Expected<void> writable = check_output(command.json); !writable) return writable.error();
  if (!command.svg.empty()) {
    if (Expected<void> writable = sim::check_writable(command.svg); !writable) return writable.error();
  }
  const Expected<models::NetworkTopology> network = load(command);
  if (!network) return network.error();
  sim::TopologyReport report{.name = std::filesystem::path(network->path()).stem(),
                             .network = &*network,
                             .summary = models::summarize(*network)};
  if (!command.traffic.empty() || !command.all_to_all.empty()) {
    if (Expected<void> done = add_bounds(command, report); !done) return done.error();
  }
  if (!command.svg.empty()) {
    const Expected<std::string> picture = sim::render_svg(sim::topology_graph(report.name, *network));
    if (!picture) return picture.error();
    if (Expected<void> written = sim::write_file(command.svg, *picture); !written) return written.error();
  }
  Expected<void> written = write_output(command.json, sim::topology_text(report), sim::topology_json(report));
  if (!written) return written.error();
  return 0;
}

}  // namespace ptxwire::cli
