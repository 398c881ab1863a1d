#include "sim/workload/network.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "sim/workload/faults.hpp"
#include "support/data_path.hpp"
#include "support/nearest.hpp"

namespace ptxwire::sim {

namespace {

constexpr std::string_view kFolder = "models/fabric/topologies";
constexpr std::string_view kNodeSuffix = "-node";

/// The files of that folder without ending that are about several nodes.
std::vector<std::string> network_names() {
  std::vector<std::string> names;
  const auto folder = find_data_file(std::string(kFolder));
  if (!folder) return names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(*folder, ignored))
    if (const std::string name = entry.path().stem().string(); name.find("-nodes") != std::string::npos)
      names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

std::string usual_network(const Scenario& s) {
  std::string machine = std::filesystem::path(s.machine).stem().string();
  if (machine.ends_with(kNodeSuffix)) machine.resize(machine.size() - kNodeSuffix.size());
  const uint32_t nodes = (s.ranks + kGpusPerNode - 1) / kGpusPerNode;
  return machine + "-" + std::to_string(std::max(nodes, 2U)) + "-nodes";
}

}  // namespace

Expected<std::string> network_path(const Scenario& s) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(s.network, ignored)) return s.network;
  const std::string name = s.network.empty() ? usual_network(s) : s.network;
  if (name.find('/') == std::string::npos)
    if (auto found =
            find_data_file(std::string(kFolder) + "/" + name + (name.ends_with(".toml") ? "" : ".toml")))
      return found;
  const std::vector<std::string> names = network_names();
  Error error{.message = "no network '" + name + "'", .path = s.path};
  if (const std::string meant = nearest(name, names); !meant.empty()) {
    error.hint = "did you mean '" + meant + "'?";
  } else {
    error.hint = "'network' is a topology file or one of:";
    for (const std::string& known : names) error.hint += " " + known;
  }
  return error;
}

Expected<models::NetworkTopology> scenario_network(const Scenario& s) {
  const auto path = network_path(s);
  if (!path) return path.error();
  auto network = models::NetworkTopology::load(*path);
  if (!network) return network;
  if (const auto done = apply_link_faults(s, *network); !done) return done.error();
  return network;
}

double nic_bytes_per_second(const models::NetworkTopology& network, uint32_t rank) {
  return network.links()[network.nic_link(models::NicId{rank})].bytes_per_second;
}

}  // namespace ptxwire::sim
