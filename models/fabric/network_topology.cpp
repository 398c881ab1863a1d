#include "models/fabric/network_topology.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "models/fabric/topology_file.hpp"
#include "support/nearest.hpp"

namespace ptxwire::models {
namespace {

constexpr std::array<std::string_view, kSwitchLevels> kLevelNames{"leaf", "spine", "core"};

/// The number behind `word`: 3 of "leaf3".
std::optional<uint32_t> number_after(std::string_view word, std::string_view name) {
  if (!name.starts_with(word)) return std::nullopt;
  const auto range = parse_number_range(name.substr(word.size()));
  if (!range || range->first != range->last) return std::nullopt;
  return range->first;
}

std::string percent(double factor) { return std::to_string(std::lround(factor * 100)) + " %"; }

}  // namespace

std::string_view level_name(SwitchLevel level) { return kLevelNames[static_cast<size_t>(level)]; }

std::string NetworkTopology::vertex_name(uint32_t vertex) const {
  if (!is_switch(vertex))
    return "node" + std::to_string(node_of(NicId{vertex})) + ".nic" + std::to_string(rail_of(NicId{vertex}));
  const SwitchLevel its_level = level(vertex);
  const auto first = std::find(levels_.begin(), levels_.end(), its_level);
  return std::string(level_name(its_level)) +
         std::to_string(vertex - nics_ - static_cast<uint32_t>(first - levels_.begin()));
}

std::vector<uint32_t> NetworkTopology::find_vertices(std::string_view name) const {
  std::vector<uint32_t> found;
  if (const auto rail = number_after("rail", name)) {
    for (uint32_t nic = 0; nic < nics_; ++nic)
      if (rail_of(NicId{nic}) == *rail) found.push_back(nic);
    return found;
  }
  if (const auto nic = number_after("nic", name)) {
    if (*nic < nics_) found.push_back(*nic);
    return found;
  }
  for (uint32_t vertex = 0; vertex < vertices(); ++vertex)
    if (vertex_name(vertex) == name) return {vertex};
  return found;
}

Error NetworkTopology::unknown_name(std::string_view name) const {
  std::vector<std::string> known;
  for (uint32_t vertex = 0; vertex < vertices(); ++vertex) known.push_back(vertex_name(vertex));
  for (uint32_t rail = 0; rail < node_.gpus(); ++rail) known.push_back("rail" + std::to_string(rail));
  return Error{.message = "nothing is called '" + std::string(name) + "' in " + path_ +
                          ", expected a NIC (node0.nic0, nic0), a rail (rail0), a switch (leaf0) or a link "
                          "(leaf0-spine0)",
               .hint = suggestion(name, known)};
}

Expected<std::vector<uint32_t>> NetworkTopology::find_links(std::string_view name) const {
  const size_t dash = name.find('-');
  const std::vector<uint32_t> from = find_vertices(name.substr(0, dash));
  std::vector<uint32_t> found;
  if (dash == std::string_view::npos) {
    for (uint32_t i = 0; i < links_.size(); ++i)
      for (const uint32_t vertex : from)
        if (links_[i].a == vertex || links_[i].b == vertex) found.push_back(i);
  } else {
    std::string_view rest = name.substr(dash + 1);
    // "leaf0-node2.nic3" has a dot of its own.
    std::vector<uint32_t> to = find_vertices(rest);
    std::optional<uint32_t> number;
    if (const size_t dot = rest.rfind('.'); to.empty() && dot != std::string_view::npos) {
      number = number_after("", rest.substr(dot + 1));
      to = number ? find_vertices(rest.substr(0, dot)) : to;
    }
    for (uint32_t i = 0; i < links_.size(); ++i) {
      const auto joins = [&](uint32_t vertex) {
        const auto is_end = [&](const std::vector<uint32_t>& ends, uint32_t end) {
          return std::find(ends.begin(), ends.end(), end) != ends.end();
        };
        return is_end(from, vertex) && is_end(to, links_[i].other_end(vertex));
      };
      const bool is_number = !number || links_[i].number == *number;
      if (is_number && (joins(links_[i].a) || joins(links_[i].b))) found.push_back(i);
    }
  }
  if (found.empty()) return unknown_name(name);
  return found;
}

Expected<void> NetworkTopology::find_routes() {
  NetworkRoutes routes(links_, nics_, vertices());
  if (const auto circle = routes.circle(links_)) {
    std::string way;
    for (const uint32_t vertex : *circle) way += vertex_name(vertex) + " -> ";
    return Error{"packets can wait for each other in a circle: " + way + vertex_name(circle->front()), path_,
                 1, 1, "ways that go up to spines and then down have none"};
  }
  routes_ = std::move(routes);
  return {};
}

Expected<void> NetworkTopology::fail(std::string_view name) {
  const Expected<std::vector<uint32_t>> found = find_links(name);
  if (!found) return found.error();
  std::vector<NetworkLink> before = links_;
  for (const uint32_t link : *found) links_[link].up = false;
  if (Expected<void> done = find_routes(); !done) {
    links_ = std::move(before);
    return Error{"without " + std::string(name) + " " + done.error().message, path_, 0, 0, {}};
  }
  faults_.push_back(std::string(name) + " down");
  return {};
}

Expected<void> NetworkTopology::slow(std::string_view name, double factor) {
  if (!(factor > 0 && factor <= 1))
    return Error{.message = std::string(name) + ": expected a factor above 0 and at most 1"};
  const Expected<std::vector<uint32_t>> found = find_links(name);
  if (!found) return found.error();
  for (const uint32_t link : *found) links_[link].bytes_per_second *= factor;
  faults_.push_back(std::string(name) + " at " + percent(factor));
  return {};
}

Expected<std::vector<uint32_t>> NetworkTopology::route(NicId from, NicId to) const {
  std::vector<uint32_t> path{from.value};
  if (!routes_.reachable(from, to)) {
    std::string why;
    for (const std::string& fault : faults_)
      if (fault.ends_with(" down")) why += (why.empty() ? "" : ", ") + fault;
    return Error{.message = "there is no way from " + vertex_name(from.value) + " to " +
                            vertex_name(to.value) + (why.empty() ? " in " + path_ : ": " + why)};
  }
  while (path.back() != to.value) {
    uint32_t next = vertices();
    for (const uint32_t link : routes_.ways(path.back(), to))
      next = std::min(next, links_[link].other_end(path.back()));
    path.push_back(next);
  }
  return path;
}

}  // namespace ptxwire::models
