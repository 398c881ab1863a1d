// Reading and checking of topology files of networks.
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

// As in topology.cpp: a warning of GCC inside Boost.Graph at -O2 and above.
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/connected_components.hpp>

#include "models/fabric/network_topology.hpp"
#include "models/fabric/topology_file.hpp"

namespace ptxwire::models {
namespace {

constexpr size_t kMaxLinks = 16384;
constexpr int64_t kMaxNodes = 512, kMaxSwitches = 1024;
constexpr std::string_view kNames =
    "expected vertices such as \"node[0-3].nic0\", \"leaf0\" or \"spine[0-1]\"";

}  // namespace

class NetworkTopologyReader : private TopologyFileReader {
 public:
  explicit NetworkTopologyReader(const std::string& path) : TopologyFileReader(path) {
    network_.path_ = path;
  }

  Expected<NetworkTopology> read() {
    Expected<toml::table> file = parse_toml_file(path());
    if (!file) return file.error();
    Expected<void> done = file->contains("vertices") ? read_one_node() : read_network(*file);
    if (!done) return done.error();
    return std::move(network_);
  }

 private:
  Expected<void> read_one_node() {
    Expected<Topology> node = Topology::load(path());
    if (!node) return node.error();
    network_.node_ = std::move(*node);
    return {};
  }

  Expected<void> read_network(const toml::table& file) {
    if (Expected<void> done = check_keys(file, {"nodes", "switches", "link"}); !done) return done;
    if (Expected<void> done = read_nodes(file); !done) return done;
    if (Expected<void> done = read_switches(file); !done) return done;
    const toml::array* links = file.get_as<toml::array>("link");
    if (links == nullptr) return fail(file.source(), "expected at least one [[link]]");
    for (const toml::node& link : *links) {
      if (!link.is_table()) return fail(link.source(), "expected a [[link]] table");
      if (Expected<void> done = read_link(*link.as_table()); !done) return done;
    }
    if (Expected<void> done = check_cabling(); !done) return done;
    if (Expected<void> done = check_connected(); !done) return done;
    return network_.find_routes();
  }

  Expected<void> read_nodes(const toml::table& file) {
    const toml::table* nodes = file.get_as<toml::table>("nodes");
    if (nodes == nullptr)
      return fail(file.source(), "expected a table [nodes], or [vertices] in a file of one node");
    if (Expected<void> done = check_keys(*nodes, {"count", "topology", "pcie"}); !done) return done;
    const Expected<uint32_t> count = read_count(*nodes, "count", kMaxNodes);
    if (!count) return count.error();
    const Expected<std::string> name = read_text(*nodes, "topology");
    if (!name) return name.error();
    const auto node_path = (std::filesystem::path(path()).parent_path() / *name).lexically_normal();
    std::error_code failed;
    if (!std::filesystem::is_regular_file(node_path, failed))
      return fail(nodes->get("topology")->source(), "topology: no file '" + node_path.string() + "'");
    Expected<Topology> node = Topology::load(node_path.string());
    if (!node) return node.error();
    const Expected<double> pcie = read_rate(*nodes, "pcie");
    if (!pcie) return pcie.error();
    network_.nodes_ = *count;
    network_.node_ = std::move(*node);
    network_.pcie_bytes_per_second_ = *pcie;
    network_.nics_ = network_.gpus();
    if (network_.nics_ > kMaxTopologyVertices)
      return fail(nodes->source(), "more than " + std::to_string(kMaxTopologyVertices) + " GPUs");
    return {};
  }

  Expected<void> read_switches(const toml::table& file) {
    const toml::table* switches = file.get_as<toml::table>("switches");
    if (switches == nullptr) return fail(file.source(), "expected a table [switches]");
    if (Expected<void> done = check_keys(*switches, {"leaf", "spine", "core"}); !done) return done;
    for (uint32_t i = 0; i < kSwitchLevels; ++i) {
      const auto level = static_cast<SwitchLevel>(i);
      counts_[i] = 0;
      if (level != SwitchLevel::leaf && !switches->contains(level_name(level))) continue;
      const Expected<uint32_t> count = read_count(*switches, level_name(level), kMaxSwitches);
      if (!count) return count.error();
      counts_[i] = *count;
      network_.levels_.insert(network_.levels_.end(), *count, level);
    }
    return {};
  }

  /// Vertices of "node[0-3].nic0" or "leaf[0-7]".
  [[nodiscard]] Expected<std::vector<uint32_t>> read_ends(const toml::table& link,
                                                          std::string_view key) const {
    const Expected<std::string> text = read_text(link, key);
    if (!text) return text.error();
    const auto bad = [&](const std::string& what) {
      return fail(link.get(key)->source(), std::string(key) + ": " + what);
    };
    const auto missing = [&](uint32_t count, const std::string& what) {
      return bad("'" + *text + "' is not there, the file has " + std::to_string(count) + " " + what);
    };
    std::vector<uint32_t> ends;
    if (text->starts_with("node")) {
      const size_t dot = text->find(".nic");
      if (dot == std::string::npos) return bad(std::string(kNames));
      const auto nodes = parse_number_range(std::string_view(*text).substr(4, dot - 4));
      const auto nics = parse_number_range(std::string_view(*text).substr(dot + 4));
      if (!nodes || !nics) return bad(std::string(kNames));
      if (nodes->last >= network_.nodes()) return missing(network_.nodes(), "nodes");
      if (nics->last >= network_.node().gpus()) return missing(network_.node().gpus(), "NICs in a node");
      for (uint32_t node = nodes->first; node <= nodes->last; ++node)
        for (uint32_t nic = nics->first; nic <= nics->last; ++nic)
          ends.push_back(node * network_.node().gpus() + nic);
      return ends;
    }
    uint32_t offset = network_.nics();
    for (uint32_t i = 0; i < kSwitchLevels; offset += counts_[i++]) {
      const std::string_view level = level_name(static_cast<SwitchLevel>(i));
      if (!text->starts_with(level)) continue;
      const auto range = parse_number_range(std::string_view(*text).substr(level.size()));
      if (!range) return bad(std::string(kNames));
      if (range->last >= counts_[i]) return missing(counts_[i], "switches of that level");
      for (uint32_t number = range->first; number <= range->last; ++number) ends.push_back(offset + number);
      return ends;
    }
    return bad(std::string(kNames));
  }

  Expected<void> read_link(const toml::table& link) {
    if (Expected<void> done = check_keys(link, {"from", "to", "count", "rate"}); !done) return done;
    const Expected<std::vector<uint32_t>> from = read_ends(link, "from");
    if (!from) return from.error();
    const Expected<std::vector<uint32_t>> to = read_ends(link, "to");
    if (!to) return to.error();
    const Expected<uint32_t> count = read_count(link, "count", kMaxParallelLinks);
    if (!count) return count.error();
    const Expected<double> rate = read_rate(link, "rate");
    if (!rate) return rate.error();
    if (network_.links_.size() + from->size() * to->size() * *count > kMaxLinks)
      return fail(link.source(), "more than " + std::to_string(kMaxLinks) + " links");
    for (const uint32_t a : *from)
      for (const uint32_t b : *to)
        if (Expected<void> done = add_links(link, {a, b, 0, *rate}, *count); !done) return done;
    return {};
  }

  Expected<void> add_links(const toml::table& table, NetworkLink link, uint32_t count) {
    if (link.a == link.b)
      return fail(table.source(), "a link of " + network_.vertex_name(link.a) + " with itself");
    if (!network_.is_switch(link.a) && !network_.is_switch(link.b))
      return fail(table.source(), "a NIC is cabled to a switch, not to another NIC");
    // A pair may stand in several tables: its cables are numbered through.
    const std::pair<uint32_t, uint32_t> pair = std::minmax(link.a, link.b);
    uint32_t& next = next_number_[pair];
    for (uint32_t i = 0; i < count; ++i) {
      link.number = next++;
      network_.links_.push_back(link);
    }
    return {};
  }

  Expected<void> check_cabling() {
    std::vector<uint32_t> counts(network_.vertices());
    network_.nic_links_.assign(network_.nics(), 0);
    for (uint32_t i = 0; i < network_.links_.size(); ++i) {
      for (const uint32_t end : {network_.links_[i].a, network_.links_[i].b}) {
        ++counts[end];
        if (!network_.is_switch(end)) network_.nic_links_[end] = i;
      }
    }
    for (uint32_t vertex = 0; vertex < network_.vertices(); ++vertex) {
      const std::string name = network_.vertex_name(vertex);
      if (counts[vertex] == 0) return at_top(name + " has no link");
      if (!network_.is_switch(vertex) && counts[vertex] > 1)
        return at_top(name + " has " + std::to_string(counts[vertex]) + " links, expected one");
    }
    return {};
  }

  /// The GPUs of a node reach each other over NVLink (Topology checks that), so nodes count as one vertex.
  [[nodiscard]] Expected<void> check_connected() const {
    boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS> graph(network_.nodes() +
                                                                              network_.switches());
    const auto place = [&](uint32_t vertex) {
      return network_.is_switch(vertex) ? network_.nodes() + vertex - network_.nics()
                                        : network_.node_of(NicId{vertex});
    };
    for (const NetworkLink& link : network_.links()) boost::add_edge(place(link.a), place(link.b), graph);
    std::vector<uint32_t> component(boost::num_vertices(graph));
    boost::connected_components(graph, component.data());
    for (uint32_t node = 1; node < network_.nodes(); ++node)
      if (component[node] != component[0])
        return at_top("there is no way from node0 to node" + std::to_string(node) + ", not even over NVLink");
    return {};
  }

  [[nodiscard]] Error at_top(std::string message) const {
    return Error{std::move(message), path(), 1, 1, {}};
  }

  NetworkTopology network_;
  std::array<uint32_t, kSwitchLevels> counts_{};
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> next_number_;
};

Expected<NetworkTopology> NetworkTopology::load(const std::string& path) {
  return NetworkTopologyReader(path).read();
}

}  // namespace ptxwire::models
