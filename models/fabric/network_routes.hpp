// Ways of fewest hops through a network of NICs and switches, as tables: from each vertex the cables that
// lead nearer to a NIC.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/base/units.hpp"

namespace ptxwire::models {

/// One cable. Vertices are numbered as in NetworkTopology.
struct NetworkLink {
  uint32_t a = 0, b = 0;
  uint32_t number = 0;          ///< among the parallel ones of its pair
  double bytes_per_second = 0;  ///< in each direction
  bool up = true;

  [[nodiscard]] uint32_t other_end(uint32_t vertex) const { return vertex == a ? b : a; }
};

class NetworkRoutes {
 public:
  NetworkRoutes() = default;
  /// NICs are vertices [0, nics); no way leads through one.
  NetworkRoutes(std::span<const NetworkLink> links, uint32_t nics, uint32_t vertices);

  /// Cables from `vertex` on ways of fewest hops to `to`, ascending; empty: there is no way, or it is there.
  [[nodiscard]] std::span<const uint32_t> ways(uint32_t vertex, NicId to) const {
    const size_t place = size_t{to.value} * vertices_ + vertex;
    return std::span(ways_).subspan(first_[place], first_[place + 1] - first_[place]);
  }
  [[nodiscard]] bool reachable(NicId from, NicId to) const {
    return from == to || !ways(from.value, to).empty();
  }

  /// A buffer is held by a packet that waits for room in the next buffer of its way. This is a circle of
  /// switches whose buffers can wait for each other, if there is one: cables are the vertices of the graph
  /// searched, one for each direction, and packets that pass from one to the next its edges. Ways that go up
  /// and then down a tree have none, since no packet that went down goes up again.
  [[nodiscard]] std::optional<std::vector<uint32_t>> circle(std::span<const NetworkLink> links) const;

 private:
  /// Switches that packets to a NIC come through.
  [[nodiscard]] std::vector<uint32_t> passed(std::span<const NetworkLink> links, NicId to) const;

  uint32_t nics_ = 0, vertices_ = 0;
  std::vector<uint32_t> first_;  ///< [to][vertex], and the end: place in ways_
  std::vector<uint32_t> ways_;
};

}  // namespace ptxwire::models
