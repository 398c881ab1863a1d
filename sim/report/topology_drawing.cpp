#include "sim/report/topology_drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace ptxwire::sim {
namespace {

using models::NetworkLink;
using models::NetworkTopology;
using models::NicId;
using models::SwitchLevel;

// Eight colours that stay apart on white, dark and light in turn (after ColorBrewer's Dark2 and Paired).
constexpr std::array<std::string_view, 8> kRailColours{"#1f78b4", "#e66101", "#1b9e77", "#e7298a",
                                                       "#7570b3", "#a6761d", "#33a02c", "#666666"};
constexpr std::string_view kSlow = "#ff8c00", kFailed = "#d00000", kPlain = "#404040";

constexpr uint32_t kMostScale = 32;  ///< nodes up to which things grow

/// The more nodes, the further apart the rows, or lines would run flat, and the larger what is not in a node,
/// or nobody could read it in a picture of the whole. Distances are in inches.
std::string style(uint32_t nodes) {
  const double distance = std::min(1.2 + 0.2 * nodes, 8.0);
  return fmt::format(
      "  graph [fontname=\"Helvetica\", fontsize={}, labelloc=b, splines=line, nodesep=0.35, "
      "ranksep={:.1f}]\n"
      "  node [fontname=\"Helvetica\", fontsize=12, shape=box, style=filled, fillcolor=\"#f4f4f4\"]\n"
      "  edge [fontname=\"Helvetica\", fontsize=12, headport=n, tailport=s]\n",
      14 + 2 * std::min(nodes, kMostScale), distance);
}

std::string_view rail_colour(uint32_t rail) { return kRailColours[rail % kRailColours.size()]; }

/// All cables between two vertices, drawn as one line.
struct Bundle {
  uint32_t a = 0, b = 0;  ///< upper vertex first
  uint32_t count = 0, down = 0;
  double each = 0;  ///< bytes per second of a cable, the slowest
};

std::string rate_words(double bytes_per_second) { return fmt::format("{:g} GB/s", bytes_per_second * 1e-9); }
std::string link_words(uint32_t count, double each) {
  return fmt::format("{} x {}", count, rate_words(each));
}

/// Inside the quotes of a label.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
  return result;
}

class NetworkDrawing {
 public:
  NetworkDrawing(const std::string& name, const NetworkTopology& network) : name_(name), network_(network) {
    for (const NetworkLink& link : network.links()) add(link);
    for (const auto& [ends, bundle] : bundles_) ++usual_[kind(bundle)][words(bundle)];
  }

  std::string text() {
    text_ = "graph topology {\n" + style(network_.nodes());
    for (const SwitchLevel level : {SwitchLevel::core, SwitchLevel::spine, SwitchLevel::leaf})
      draw_switches(level);
    draw_nodes();
    for (const auto& [ends, bundle] : bundles_) draw(bundle);
    text_ += fmt::format("  label=\"{}\"\n}}\n", caption());
    return text_;
  }

 private:
  [[nodiscard]] uint32_t height(uint32_t vertex) const {
    return network_.is_switch(vertex) ? 1 + static_cast<uint32_t>(network_.level(vertex)) : 0;
  }

  void add(const NetworkLink& link) {
    const bool swapped = height(link.a) < height(link.b);
    const uint32_t upper = swapped ? link.b : link.a, lower = swapped ? link.a : link.b;
    Bundle& bundle = bundles_[{upper, lower}];
    if (bundle.count == 0) bundle = {upper, lower, 0, 0, link.bytes_per_second};
    ++bundle.count;
    bundle.each = std::min(bundle.each, link.bytes_per_second);
    bundle.down += link.up ? 0 : 1;
  }

  [[nodiscard]] std::string kind(const Bundle& bundle) const {
    const auto word = [&](uint32_t vertex) {
      return network_.is_switch(vertex) ? std::string(level_name(network_.level(vertex))) : "NIC";
    };
    return word(bundle.b) + " to " + word(bundle.a);
  }
  [[nodiscard]] static std::string words(const Bundle& bundle) {
    std::string text = link_words(bundle.count, bundle.each);
    if (bundle.down == bundle.count) return "down";
    if (bundle.down != 0) text += fmt::format(", {} down", bundle.down);
    return text;
  }
  /// What most links of a kind are.
  [[nodiscard]] const std::string& usual(const std::string& its_kind) const {
    const auto& counts = usual_.at(its_kind);
    return std::max_element(counts.begin(), counts.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  }

  void draw_switches(SwitchLevel level) {
    const uint32_t scale = std::min(network_.nodes(), kMostScale);
    std::string row, before;
    for (uint32_t vertex = network_.nics(); vertex < network_.vertices(); ++vertex) {
      if (network_.level(vertex) != level) continue;
      const std::string name = network_.vertex_name(vertex);
      row += fmt::format("    {} [width={:.1f}, height=0.5, fontsize={}]\n", name, 0.8 + 0.15 * scale,
                         11 + scale);
      if (!before.empty()) row += fmt::format("    {} -- {} [style=invis]\n", before, name);
      before = name;
    }
    if (!row.empty()) text_ += "  {\n    rank=same\n" + row + "  }\n";
  }

  void draw_nodes() {
    std::string before;
    text_ += "  {\n    rank=same\n    node [shape=plain, fillcolor=white]\n";
    for (uint32_t node = 0; node < network_.nodes(); ++node) {
      const std::string name = fmt::format("node{}", node);
      text_ += fmt::format("    {} [label=<{}>]\n", name, node_table(node));
      if (!before.empty()) text_ += fmt::format("    {} -- {} [style=invis]\n", before, name);
      before = name;
    }
    text_ += "  }\n";
  }

  [[nodiscard]] std::string node_table(uint32_t node) const {
    const models::Topology& inside = network_.node();
    const uint32_t gpus = inside.gpus();
    std::string nics = "<tr><td border=\"0\">NIC</td>", gpu_cells = "<tr><td border=\"0\">GPU</td>";
    for (uint32_t i = 0; i < gpus; ++i) {
      nics += fmt::format("<td port=\"n{}\" width=\"26\" bgcolor=\"{}\"><font color=\"white\">{}</font></td>",
                          i, rail_colour(i), i);
      gpu_cells += fmt::format("<td>{}</td>", node * gpus + i);
    }
    return fmt::format(
        "<table border=\"1\" cellborder=\"1\" cellspacing=\"0\" cellpadding=\"4\" "
        "bgcolor=\"white\">{}</tr>{}</tr>"
        "<tr><td border=\"0\"></td><td colspan=\"{}\" bgcolor=\"#e8f0e0\">{}</td></tr>"
        "<tr><td border=\"0\"></td><td border=\"0\" colspan=\"{}\"><b>node{}</b></td></tr></table>",
        nics, gpu_cells, gpus, nvlink_words(), gpus, node);
  }

  [[nodiscard]] std::string nvlink_words() const {
    const models::Topology& inside = network_.node();
    uint32_t count = 0;
    for (const models::TopologyEdge& edge : inside.edges())
      count += edge.a == 0 || edge.b == 0 ? edge.count : 0;
    return fmt::format("{} NVSwitch{}, {} per GPU", inside.switches(), inside.switches() == 1 ? "" : "es",
                       link_words(count, inside.edges().front().bytes_per_second));
  }

  void draw(const Bundle& bundle) {
    const bool to_nic = !network_.is_switch(bundle.b);
    const NicId nic{bundle.b};
    const std::string lower = to_nic
                                  ? fmt::format("node{}:n{}:n", network_.node_of(nic), network_.rail_of(nic))
                                  : network_.vertex_name(bundle.b);
    std::string_view colour = to_nic ? rail_colour(network_.rail_of(nic)) : kPlain;
    const std::string its_words = words(bundle);
    const bool is_usual = its_words == usual(kind(bundle));
    std::string extra;
    if (bundle.down != 0) {
      colour = kFailed;
      extra = ", style=dashed";
    } else if (!is_usual) {
      colour = kSlow;
    }
    if (!is_usual) extra += ", penwidth=2.5";
    if (!is_usual && bundle.down != bundle.count)
      extra += fmt::format(", label=\"{}\", fontcolor=\"{}\"", its_words, colour);
    text_ +=
        fmt::format("  {} -- {} [color=\"{}\"{}]\n", network_.vertex_name(bundle.a), lower, colour, extra);
  }

  [[nodiscard]] std::string caption() const {
    std::string text = fmt::format("\\n{}: {} nodes of {} GPUs\\n", escaped(name_), network_.nodes(),
                                   network_.node().gpus());
    for (const auto& [its_kind, counts] : usual_) text += fmt::format("{} {}; ", its_kind, usual(its_kind));
    text += "NIC to GPU (PCIe) " + rate_words(network_.pcie_bytes_per_second());
    for (const std::string& fault : network_.faults())
      text += (&fault == &network_.faults().front() ? "\\nfaults: " : ", ") + escaped(fault);
    return text;
  }

  const std::string& name_;
  const NetworkTopology& network_;
  std::map<std::pair<uint32_t, uint32_t>, Bundle> bundles_;
  std::map<std::string, std::map<std::string, uint32_t>> usual_;  ///< [kind][words]: number of bundles
  std::string text_;
};

std::string single_node_graph(const std::string& name, const models::Topology& node) {
  std::string text = "graph topology {\n" + style(1);
  const auto row = [&](uint32_t first, uint32_t end, std::string_view colour) {
    text += fmt::format("  {{\n    rank=same\n    node [fillcolor=\"{}\"]\n", colour);
    for (uint32_t v = first; v < end; ++v) {
      text += fmt::format("    {} [width=1.0, height=0.5]\n", node.vertex_name(v));
      if (v != first)
        text += fmt::format("    {} -- {} [style=invis]\n", node.vertex_name(v - 1), node.vertex_name(v));
    }
    text += "  }\n";
  };
  row(node.gpus(), node.gpus() + node.switches(), "#e8f0e0");
  row(0, node.gpus(), "#f4f4f4");
  std::map<std::string, uint32_t> kinds;
  for (const models::TopologyEdge& edge : node.edges())
    ++kinds[link_words(edge.count, edge.bytes_per_second)];
  for (const models::TopologyEdge& edge : node.edges()) {
    const std::string words = link_words(edge.count, edge.bytes_per_second);
    text += fmt::format("  {} -- {} [penwidth={}{}]\n", node.vertex_name(std::max(edge.a, edge.b)),
                        node.vertex_name(std::min(edge.a, edge.b)), edge.count,
                        kinds.size() == 1 ? "" : fmt::format(", label=\"{}\"", edge.count));
  }
  text += fmt::format("  label=\"\\n{}: {} GPUs, {} NVSwitches; links", escaped(name), node.gpus(),
                      node.switches());
  for (const auto& [words, count] : kinds) text += fmt::format(" {}{}", words, kinds.size() == 1 ? "" : ";");
  return text + "\"\n}\n";
}

}  // namespace

std::string topology_graph(const std::string& name, const NetworkTopology& network) {
  if (network.nics() == 0) return single_node_graph(name, network.node());
  return NetworkDrawing(name, network).text();
}

}  // namespace ptxwire::sim
